"""A study that carries its model's code, with real processes: agents, relays, server, and a trainer at each site."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.site.data import federation
from secure_sapefl.site.status import read_site_status
from secure_sapefl.site.trainer.confinement import NEEDED
from tests.carried_code import HONEST, carried
from tests.processes.conftest import table_schema

pytestmark = pytest.mark.slow


def build(about: Any) -> Any:
    namespace: dict[str, Any] = {}
    exec(HONEST, namespace)  # noqa: S102 - the model of this test, for the simulator
    return namespace["build"](about)


def test_the_carried_model_is_trained_apart_and_comes_out_as_simulated(
    small: Callable[..., Any], tmp_path: Path
) -> None:
    study = small(**carried(tmp_path, table_schema()), rounds=2)
    study.start_all()
    seen: set[str] = set()

    def trainers() -> bool:
        """Until the study is over, looking at who is alive on the way."""
        for site in study.file.sites:
            found = study.under(site, "secure_sapefl.site.trainer.worker")
            seen.update(f"{site} {pid}" for pid in found)
            for pid in found:
                _has_nothing(pid, study.folder)
        return all(process.poll() is not None for process in study.processes.values())

    study.wait_for(trainers)
    study.wait_to_finish_well()
    assert {one.partition(" ")[0] for one in seen} == set(study.file.sites)
    for site in study.file.sites:
        status = read_site_status(study.home(site).study_folder(study.file.digest) / "status.json")
        assert study.file.code is not None
        assert status["carried_code"]["sha256"] == study.file.code.digest
        assert set(NEEDED) <= set(status["carried_code"]["holds"])
        log = (study.folder / f"{site}.log").read_text()
        assert "no socket can be opened" in log
    files = {site: study.home(site).data_path for site in study.file.sites}
    config = study.file.config().model_copy(update={"workers": 0})
    simulation = Simulation(assemble(config, federation(study.file, files), model=build))
    simulation.run()
    for site in study.file.sites:
        theta = study.site_state(site).theta_global
        np.testing.assert_allclose(theta, simulation.key_holders.theta_global, atol=2e-5)


def _has_nothing(pid: int, folder: Path) -> None:
    """No variable, no socket and no file of the study's; a process that has just ended says nothing."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        files = [str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return
    assert environment == b""
    assert not [file for file in files if file.startswith(("socket", str(folder)))]

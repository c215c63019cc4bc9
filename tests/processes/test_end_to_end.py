"""Four hospitals, four machines' worth of processes, TLS, CKKS and differential privacy; and the simulator's numbers.

Deployed and simulated sites draw from the same streams and add on an exact plan. What is left is float rounding: a
simulated group multiplies the matrices of several sites at once, a deployed site its own alone.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl.data.datasets.heart import HOSPITALS, PUBLIC
from secure_sapefl.data.fetch import no_progress
from secure_sapefl.data.load import load_table
from secure_sapefl.data.own import Reading
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.site.data import federation, load_site
from secure_sapefl.site.release import release_from_site
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.terms import StudyTerms

ROUNDS = 3


def hospitals(folder: Path) -> dict[str, Path]:
    """A CSV file a hospital, as its own database would export it."""
    table = load_table("heart", Reading(), seed=0, data_dir=None, progress=no_progress)
    assert table.group is not None
    files = {}
    for number, name in enumerate(HOSPITALS):
        rows, labels = table.X[table.group == number], table.y[table.group == number]
        lines = [",".join((*PUBLIC, "disease"))]
        for row, label in zip(rows, labels, strict=True):
            cells = ["?" if np.isnan(v) else f"{v:g}" for v in row]
            lines.append(",".join((*cells, table.class_names[label])))
        files[name] = folder / f"{name}.csv"
        files[name].write_text("\n".join(lines) + "\n")
    return files


def schema() -> dict[str, Any]:
    features = [
        {
            "name": name,
            "low": r.low - (r.high - r.low) / 5,
            "high": r.high + (r.high - r.low) / 5,
            "may_be_missing": True,
        }
        for name, r in PUBLIC.items()
    ]
    return {"kind": "table", "label": "disease", "classes": ["no_disease", "disease"], "features": features}


@pytest.mark.slow
@pytest.mark.skipif("SAPEFL_DATA" not in os.environ, reason="heart: set SAPEFL_DATA to a folder that holds it")
@pytest.mark.parametrize("scores", ["open", "hidden"])
def test_four_hospitals_end_where_the_simulator_ends(deploy: Callable[..., Any], tmp_path: Path, scores: str) -> None:
    files = hospitals(tmp_path)
    study = deploy(
        files,
        rounds=ROUNDS,
        local_epochs=2,
        largest_site=242,
        min_cohort=3,
        round_deadline=3600.0,  # numbers are compared here: whoever is left out of a round changes them
        scores=scores,
        privacy={"epsilon": 8.0, "delta": 1e-4, "noise": "repeatable"},
        data=schema(),
    )
    study.start_all()
    study.wait_to_finish()
    status = study.status()
    assert status["closed"] == ROUNDS
    assert [closed["left_out"] for closed in status["history"]] == [[]] * ROUNDS
    assert all(site["absorbed"] == ROUNDS for site in status["sites"])

    simulation = Simulation(
        assemble(study.file.config().model_copy(update={"workers": 0}), federation(study.file, files))
    )
    simulation.run()
    worst = 0.0
    for place, site in enumerate(study.file.sites):
        home = study.home(site)
        state = SiteState.load(home.state_path(study.file.digest), study=study.file.digest, site=site)
        for name, simulated in simulation.assembly.sites.state.items():
            worst = max(worst, float((state.own[name][0] - simulated[place]).abs().max()))
        worst = max(worst, float((state.theta_global - simulation.key_holders.theta_global).abs().max()))
        sent = study.events(site, "sent")
        assert [event.round_index for event in sent] == list(range(ROUNDS))
        assert sent[-1].epsilon is not None
        assert sent[-1].epsilon <= 8.0
        assert not study.events(site, "refused")
        assert torch.isfinite(state.theta_global).all()
        assert len(load_site(files[site], study.file, site).train) > 0
    print(f"largest difference of any weight to the simulator: {worst:.2e}")
    assert worst < 1e-4
    published = release_from_site(home, StudyTerms.from_file(study.file), None, tmp_path / "model.npz")
    assert float(np.abs(published.theta - state.theta_global.numpy()).max()) < 1e-4
    assert [event.note for event in study.events(site, "published")] == ["1 of 4 releases"]

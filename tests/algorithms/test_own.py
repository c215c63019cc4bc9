"""A method in a file: found by its path, part of the run's identity, refused when it changed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl import Config, resume, simulate
from secure_sapefl.algorithms import own
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.audit.audit import audit
from secure_sapefl.engine.events import RoundClosed, RunEvent
from secure_sapefl.engine.result import Result
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.experiments.cells import Cell, CellStore
from secure_sapefl.report.run import load_run

SOURCE = """
from dataclasses import replace
from pydantic import Field
from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
from secure_sapefl.config import Settings

class Options(Settings):
    factor: float = Field(1.0, gt=0)

def models(group, options):
    return options.factor * group.everywhere(group.theta_global)

ALGORITHM = replace(FEDAVG, name="scaled", title="Scaled", personal_models=models, options=Options)
SECOND = replace(ALGORITHM, title="Second")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def small() -> Callable[..., Config]:
    def make(method: Path | str, **more: object) -> Config:
        common = {"clients": 3, "rounds": 2, "local_epochs": 1, "protection": "plaintext", "workers": 0, "kappa": 5.0}
        data = {"data_options": {"rows": 120, "classes": 3}}
        return Config(**{"method": str(method), **common, **data, **more})  # type: ignore[arg-type]  # a test's own

    return make


def test_it_is_found_in_a_file_by_its_name_or_another(file: Path) -> None:
    assert own.algorithm(str(file)).title == "Scaled"
    assert own.algorithm(f"{file}:SECOND").title == "Second"
    assert own.algorithm("secure_sapefl.algorithms.ditto:ALGORITHM") is ALGORITHMS["ditto"]
    assert own.find(str(file)).sources.keys() == {"method"}


def test_what_is_wrong_with_it_is_said_in_a_sentence(file: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no 'THIRD'. It defines: .*Options"):
        own.find(f"{file}:THIRD")
    with pytest.raises(BadInput, match=r"options of .*scaled\.py: factor = -1"):
        own.configured(str(file), {"factor": -1.0})
    with pytest.raises(BadInput, match=r"is function, expected an Algorithm"):
        own.find(f"{file}:models")
    with pytest.raises(BadInput, match="cannot read"):
        own.find(str(tmp_path / "nowhere.py"))
    with pytest.raises(UnknownName, match="Did you mean 'fedprox'"):
        own.find("fedporx")


def test_its_options_do_what_they_say_and_its_title_is_told(
    file: Path, small: Callable[..., Config], tmp_path: Path
) -> None:
    plain, doubled = (simulate(small(file, options={"factor": factor}), tmp_path / str(factor)) for factor in (1, 2))
    site = plain.facts["client_names"][0]
    first, second = (next(result.model(site).parameters()) for result in (plain, doubled))
    assert (second == 2 * first).all()
    assert load_run(tmp_path / "2").algorithm.title == "Scaled"


def stopped(config: Config, out: Path) -> None:
    def stop(event: RunEvent) -> None:
        if isinstance(event, RoundClosed):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(config, out, observers=[stop])


def test_a_run_goes_on_with_the_file_it_was_begun_with_alone(
    file: Path, small: Callable[..., Config], tmp_path: Path
) -> None:
    stopped(small(file), tmp_path / "run")
    file.write_text(SOURCE.replace("options.factor *", "2 * options.factor *"))
    with pytest.raises(BadInput, match=r"run: the method differs\. Its file is not the one it was begun with"):
        resume(tmp_path / "run")
    file.write_text(SOURCE)
    result = resume(tmp_path / "run")
    assert isinstance(result, Result)
    assert len(result.rounds) == 2
    file.write_text(SOURCE + "\n# changed\n")
    with pytest.raises(BadInput, match="the method differs"):
        audit(tmp_path / "run")


def test_cells_are_told_apart_by_the_file(file: Path, small: Callable[..., Config], tmp_path: Path) -> None:
    before = Cell(config=small(file))
    assert CellStore(tmp_path).path(before).parent == tmp_path
    assert before.identity["sources"].keys() == {"method"}
    file.write_text(SOURCE + "\n# changed\n")
    assert Cell(config=small(file)).digest != before.digest
    assert "sources" not in Cell(config=small("fedavg")).identity

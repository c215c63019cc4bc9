"""The heart study with real processes, TLS and CKKS, whose fourth hospital starts late: what does it end with?

`pytest -m slow tests/processes/test_late.py -s` prints its numbers beside those it would have had alone, or by
being there from the start. Those come from the simulator, which ends where a deployed study ends (test_end_to_end.py).
"""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.config import read_toml
from secure_sapefl.data.datasets.heart import HOSPITALS
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.metrics import Scores
from secure_sapefl.site.data import federation, load_site
from secure_sapefl.site.own_model import personal_model
from secure_sapefl.site.state import SiteState
from secure_sapefl.site.trainer.training import OwnProcess
from secure_sapefl.study.terms import StudyTerms

EXAMPLE = Path(__file__).parents[2] / "examples" / "heart_hospitals"
*PUNCTUAL, LATE = HOSPITALS
ROUNDS = 4
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("SAPEFL_DATA" not in os.environ, reason="heart: set SAPEFL_DATA to a folder that holds it"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What each hospital exports, as in the example."""
    folder = tmp_path_factory.mktemp("heart") / "records"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE.parent)
        import_module("heart_hospitals.network").write_records(folder)
    return {name: folder / f"{name}.csv" for name in HOSPITALS}


@pytest.fixture(params=["shared", "joint"])
def study(deploy: Callable[..., Any], files: dict[str, Path], request: pytest.FixtureRequest) -> Any:
    """All rounds without the late hospital end at their deadline, so that is short."""
    data = read_toml(EXAMPLE / "draft.toml")["data"]
    sizes = {"largest_site": 242, "min_cohort": 3, "batch_size": 32, "keys": request.param}
    return deploy(files, rounds=ROUNDS, local_epochs=2, round_deadline=40.0, data=data, **sizes)


def start_punctual(study: Any) -> None:
    study.start_server()
    for site in PUNCTUAL:
        study.start_site(site)


def print_scores(name: str, scores: Scores, place: int = 0) -> None:
    accuracy, auc = scores.accuracy.per_client[place], scores.auc.per_client[place]
    print(f"{LATE}, {name}: accuracy {100 * accuracy:.1f} %, AUC {auc:.3f}")


def simulated(study: Any, files: dict[str, Path], method: str) -> Scores:
    config = study.file.config().model_copy(update={"workers": 0, "method": method})
    result = Simulation(assemble(config, federation(study.file, files))).run()
    return Scores({"accuracy": result.accuracy, "auc": result.auc})


def ended(study: Any, files: dict[str, Path], when: str) -> tuple[SiteState, Tensor]:
    """The late hospital's state and own model, which is told to whoever reads."""
    terms, path = StudyTerms.from_file(study.file), study.home(LATE).state_path(study.file.digest)
    state, rows = SiteState.load(path, study=study.file.digest, site=LATE), load_site(files[LATE], study.file, LATE)
    own = personal_model(OwnProcess(terms, rows), state)
    place = study.file.index(LATE)
    for name, theta in ((f"{when}, own model", own), (f"{when}, global model", state.theta_global)):
        logits = terms.blueprint.model.outputs(theta[None], torch.from_numpy(rows.test.X)[None])[0].numpy()
        print_scores(name, Scores.from_outputs([(logits, rows.test.y)]))
    print_scores("alone", simulated(study, files, "local"), place)
    print_scores("from the start", simulated(study, files, "sapefl"), place)
    return state, own


def test_a_hospital_that_starts_mid_study(study: Any, files: dict[str, Path]) -> None:
    start_punctual(study)
    study.wait_for(lambda: study.status()["closed"] == 2)
    study.start_site(LATE)
    study.wait_to_finish()
    sent = study.sent(LATE)
    assert sent
    state, own = ended(study, files, f"in {len(sent)} of {ROUNDS} rounds")
    assert min(sent) >= 2
    assert (state.absorbed, state.answered) == (ROUNDS - 1, ROUNDS - 1)
    assert not study.events(LATE, "received")
    assert not torch.equal(own, state.theta_global)


def test_a_hospital_that_starts_when_all_is_over(study: Any, files: dict[str, Path]) -> None:
    """Server and others have gone home; the server is started once more for it."""
    start_punctual(study)
    study.wait_to_finish()
    study.start_site(LATE)
    study.start_server()
    study.wait_to_finish()
    state, own = ended(study, files, "after the last round")
    assert (state.absorbed, state.answered, state.over) == (ROUNDS - 1, -1, True)
    assert not study.events(LATE, "sent")
    assert [event.round_index for event in study.events(LATE, "received")] == [ROUNDS]
    assert not torch.equal(own, state.theta_global)
    again = study.start_site(LATE)
    assert again.wait() == 0
    assert (study.folder / f"{LATE}.log").read_text().rstrip().endswith("The study is over.")

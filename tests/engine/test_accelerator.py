"""Every method on a device with a memory of its own: it runs, it learns what it learns on the host, and the host hears
from it no more often when there are more steps."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
import torch

from secure_sapefl import Config, simulate
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.data import Federation
from secure_sapefl.engine import assembly
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.result import Result
from tests.accelerator import DEVICE, accelerator, counted
from tests.models.conftest import Residual

__all__ = ["accelerator"]

Run = Callable[..., Result]
BUDGET: Final = {"dp_epsilon": 8.0, "dp_delta": 1e-3}
OWN_MODULE: Final = {"head": "fc"}
TINY: Final[Mapping[str, Any]] = {
    "clients": 3,
    "rounds": 2,
    "participation": 1.0,
    "kappa": 5.0,
    "local_epochs": 1,
    "batch_size": 16,
    "evaluate_every": 2,
    "workers": 0,
    "threads": 1,
    "data_options": {"rows": 90, "classes": 3, "flip_y": 0.0},
}
EXACT: Final[Mapping[str, Any]] = {}
KINDS: Final = {
    f"{protection}-{words}": {"protection": protection, **kind}
    for protection in ("plaintext", "ckks")
    for words, kind in {
        "exact": EXACT, "exact-own": OWN_MODULE, "budget": BUDGET, "budget-own": {**BUDGET, **OWN_MODULE},
    }.items()
}  # fmt: skip
FAST: Final = {("sapefl", "ckks-budget-own"), *((method, "plaintext-exact") for method in ALGORITHMS)}


def marked(*names: str, fast: bool) -> Any:
    return pytest.param(*names, marks=() if fast else pytest.mark.slow)


@pytest.fixture(scope="module")
def sites() -> Federation:
    return federation_of(Config(**TINY))


@pytest.fixture
def run(sites: Federation) -> Run:
    def one(**changes: Any) -> Result:
        config = Config(**{**TINY, **changes})
        return simulate(config, federation=sites, model=Residual if "head" in changes else None)

    return one


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch, accelerator: str, run: Run) -> Run:
    """A run whose device is the accelerator."""
    assert DEVICE.type == accelerator
    monkeypatch.setattr(assembly, "resolve_device", lambda _: DEVICE)
    return run


@pytest.fixture
def on_both(run: Run, request: pytest.FixtureRequest) -> Callable[..., tuple[Result, Result]]:
    """The same run on the host, and then on the accelerator."""

    def pair(**changes: Any) -> tuple[Result, Result]:
        here = run(**changes)
        return here, request.getfixturevalue("there")(**changes)

    return pair


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("method", "kind"), [marked(one, kind, fast=(one, kind) in FAST) for one in ALGORITHMS for kind in KINDS]
)
def test_a_method_learns_there_what_it_learns_here(
    on_both: Callable[..., tuple[Result, Result]], method: str, kind: str
) -> None:
    here, far = on_both(method=method, **KINDS[kind])
    assert far.facts["device"] == str(DEVICE)
    assert here.models is not None
    assert far.models is not None
    for site, theta in here.models.thetas.items():
        torch.testing.assert_close(far.models.thetas[site], theta, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
@pytest.mark.parametrize("budget", [EXACT, BUDGET], ids=["exact", "budget"])
@pytest.mark.parametrize("method", [marked(one, fast=one in ("perfedavg", "sapefl")) for one in ALGORITHMS])
def test_more_steps_ask_no_more_of_the_device(there: Run, method: str, budget: Mapping[str, Any]) -> None:
    seen = []
    for batch_size in (16, 8):
        with counted() as traffic:
            there(method=method, protection="plaintext", batch_size=batch_size, class_weights="1,2,3", **budget)
        seen.append(traffic)
    few, many = seen
    assert many.operations > few.operations
    assert (many.to_host, many.to_device, +many.waits) == (few.to_host, few.to_device, +few.waits)


@pytest.mark.filterwarnings("ignore::secure_sapefl.training.compiled.NotCompiled")
def test_steps_that_are_not_compiled_there_are_taken_and_named(there: Run, run: Run) -> None:
    far = there(method="sapefl", protection="plaintext", engine="compiled")
    assert far.facts["steps"].startswith("as written: LocalLoss on a StackedModel of")
    assert far.models is not None

"""Methods under shared noise: what leaves, what stays, who refuses."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.base import Homomorphic, NoOptions
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.releases import NotShared
from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.events import RunEvent, SitesTrained
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.form import shared_form
from secure_sapefl.privacy.shared.optimizer import Iterate
from secure_sapefl.privacy.shared.plan import SharedPlan

SHARING = ("fedavg", "fedavg-ft", "fedavg-ft-plus", "ditto", "sapefl", "sapefl-plus")


@pytest.mark.parametrize("method", [name for name in ALGORITHMS if name not in (*SHARING, "local")])
def test_the_others_refuse_and_say_why(method: str, config: Callable[..., Config]) -> None:
    reason = ALGORITHMS[method].from_common
    assert isinstance(reason, NotShared)
    with pytest.raises(BadInput, match=reason.reason[:30]):
        simulate(config(method=method))


@pytest.mark.parametrize("method", SHARING)
def test_what_leaves_is_one_noised_sum_of_weight_one(method: str, config: Callable[..., Config]) -> None:
    sent: list[SitesTrained] = []

    def hear(event: RunEvent) -> None:
        if isinstance(event, SitesTrained):
            sent.append(event)

    result = simulate(config(method=method, rounds=2), observers=[hear])
    for event in sent:
        contribution = event.contribution
        assert contribution.shared is None
        assert contribution.score is not None
        assert contribution.score.tolist() == [1.0] * len(event.sites)
        assert not contribution.state
        assert event.peers == ()
    assert result.privacy is not None
    assert any("peers' models are not exchanged" in note for note in result.privacy["notes"])


def test_local_only_sends_nothing_and_stays_as_it_is(config: Callable[..., Config]) -> None:
    alone, shared = (simulate(config(method="local", rounds=1, dp_noise=noise)) for noise in ("local", "shared"))
    assert alone.accuracy == shared.accuracy
    assert shared.privacy is not None
    assert shared.privacy["epsilon_max"] == 0


@pytest.mark.parametrize("method", ["fedavg-ft", "ditto", "sapefl", "sapefl-plus"])
def test_models_at_home_differ_from_the_common_one_and_from_site_to_site(
    method: str, config: Callable[..., Config]
) -> None:
    result = simulate(config(method=method, rounds=1))
    assert result.accuracy.per_client != result.global_accuracy.per_client


def test_a_step_by_hand(plan: Callable[..., SharedPlan], numbers: Parameters) -> None:
    """A mean of 3 units, 0.25 of 40 records a site, clip 2: the first step of momentum is lr times 3 u / 20."""
    made = plan(clip=2.0, steps=1000)
    carriage = replace(Carriage.for_plan(made, 2, numbers), unit=0.5)
    form = shared_form(ALGORITHMS["fedavg"], made, carriage, 2)
    row = form.initial_global(torch.tensor([1.0, -1.0]), NoOptions())
    moved = Iterate.from_row(form.global_step(row, torch.tensor([3.0, 0.0]), NoOptions()), 2)
    assert moved.theta.tolist() == pytest.approx([1 - 0.5 * 1.5 / 20, -1])
    assert moved.steps == 1


def test_nobody_takes_a_step_without_having_paid(plan: Callable[..., SharedPlan], numbers: Parameters) -> None:
    made = plan()
    form = shared_form(ALGORITHMS["fedavg"], made, Carriage.for_plan(made, 2, numbers), 2)

    class Unpaid:
        private = None

    with pytest.raises(RuntimeError, match="have paid"):
        form.site_round(Unpaid(), NoOptions())  # type: ignore[arg-type]


def test_a_method_without_messages_has_nothing_to_share(plan: Callable[..., SharedPlan], numbers: Parameters) -> None:
    local = ALGORITHMS["local"]
    assert local.homomorphic is Homomorphic.SILENT
    assert shared_form(local, plan(), Carriage.for_plan(plan(), 2, numbers), 2) is local


@pytest.mark.parametrize(("chosen", "longest"), [(None, 0.01), (0.02, 0.02)])
def test_steps_at_home_are_as_long_as_those_of_the_common_model(
    chosen: float | None, longest: float, config: Callable[..., Config]
) -> None:
    """One step, of a batch that holds all rows: its gradient is cut at the clip, or at what the study says."""
    made = config(method="fedavg-ft", options={"epochs": 1}, batch_size=500, lr=0.5, dp_clip=0.01, max_grad_norm=chosen)
    assembly, moved = assemble(made), list[float]()
    start = assembly.blueprint.theta_initial
    row = assembly.blueprint.algorithm.initial_global(start, assembly.blueprint.options)
    assembly.sites.evaluate(row, 0, 12, lambda _, theta: moved.append(float((theta - start).norm())))
    assert moved == pytest.approx([0.5 * longest] * 12, rel=1e-3)

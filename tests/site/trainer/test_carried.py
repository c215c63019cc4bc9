"""Training with carried code as a site sees it: the same numbers as here, and nothing used that was not asked for."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.site.trainer.carried import CarriedTraining
from secure_sapefl.site.trainer.process import TrainerFailed
from secure_sapefl.site.trainer.training import Asked
from tests.deployed_study import World
from tests.site.trainer.here import Change, Here, as_it_is, build


def training(deployed: World, change: Change = as_it_is) -> CarriedTraining:
    return CarriedTraining(deployed.terms, deployed.rows["north"], lambda: Here(change))  # type: ignore[arg-type, return-value]


def asked(one: CarriedTraining) -> Asked:
    theta = one.theta_initial
    own = {"theta_personal": theta[None].clone()}
    return Asked(
        round_index=0, theta_global=theta, own=own, peers=Peers(theta[None] + 0.1, torch.ones(1, 1, dtype=torch.bool))
    )


def _set(name: str, value: float) -> Change:
    def change(tensors: dict[str, Tensor]) -> None:
        tensors[name] = torch.full_like(tensors[name], value)

    return change


WRONG: Mapping[str, tuple[Change, str]] = {
    "a longer update": (lambda t: t.update(update=torch.zeros(1, 45)), r"'update' is torch.float32 of shape \(1, 45\)"),
    "other numbers": (lambda t: t.update(update=t["update"].double()), "'update' is torch.float64"),
    "another name": (lambda t: t.update(rows=torch.zeros(9)), "tensors .*'rows'.* came"),
    "nothing": (lambda t: t.clear(), r"tensors \[\] came"),
    "a state that is not its own": (lambda t: t.update({"state mine": torch.zeros(1)}), "'state mine'"),
    "a negative score": (_set("score", -1.0), "a score is outside 0 to 3"),
    "a huge score": (_set("score", 1e9), "a score is outside 0 to 3"),
    "a huge weight": (_set("shared", 1e4), "a weight of the shared is beyond ±1000"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_was_not_asked_for_is_not_used(carrying_world: Callable[..., World], wrong: str) -> None:
    change, words = WRONG[wrong]
    one = training(carrying_world(), change)
    with pytest.raises(TrainerFailed, match=words):
        one.contribution(asked(one))


def test_nan_is_withdrawn_like_any_training_that_diverged(carrying_world: Callable[..., World]) -> None:
    deployed = carrying_world(rounds=1)
    deployed.training = lambda terms, rows, _: CarriedTraining(  # type: ignore[arg-type]
        terms,
        rows,
        lambda: Here(_set_if_there("update", torch.nan) if rows.name == "north" else as_it_is),  # type: ignore[return-value]
    )
    deployed.start_all()
    deployed.run()
    north = deployed.agents["north"]
    assert north.state.answered == -1
    assert [event.note for event in deployed.ledgers["north"].events("refused")] != []
    assert deployed.agents["east"].state.answered == 0


def test_what_the_code_says_of_itself_stays_in_the_sites_log(
    carrying_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """It could be a record."""
    deployed = carrying_world(rounds=1)

    def secretive(tensors: dict[str, Tensor]) -> None:
        raise TrainerFailed("Carried code: ValueError: patient 17 is 62 years old")

    deployed.training = lambda terms, rows, _: CarriedTraining(  # type: ignore[arg-type]
        terms,
        rows,
        lambda: Here(secretive if rows.name == "north" else as_it_is),  # type: ignore[return-value]
    )
    deployed.start_all()
    deployed.run()
    notes = [event.note for event in deployed.ledgers["north"].events("refused")]
    assert notes == ["training gave numbers that the study's parameters do not carry; the site's log says more."]
    assert "patient 17" in caplog.text


def test_after_a_failure_the_next_question_starts_another_process(carrying_world: Callable[..., World]) -> None:
    deployed, begun = carrying_world(), list[Here]()

    def start() -> Any:
        begun.append(Here(_set("score", -1.0) if not begun else as_it_is))
        return begun[-1]

    one = CarriedTraining(deployed.terms, deployed.rows["north"], start)
    question = asked(one)
    with pytest.raises(TrainerFailed):
        one.contribution(question)
    one.contribution(question)
    assert [process.closed for process in begun] == [True, False]
    assert set(begun[0].seconds) == {deployed.file.round_deadline}


def test_predictions_and_the_exported_module_come_from_the_process(carrying_world: Callable[..., World]) -> None:
    one = training(carrying_world())
    theta, x = one.personal_model(asked(one)), torch.linspace(-1, 1, 12).view(3, 4)
    module = one.module(theta)
    assert sorted(module.state_dict()) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert "Tanh" in str(module)
    plain = build(type("About", (), {"shape": (4,), "outputs": 2}))
    plain.load_state_dict(dict(module.state_dict()))
    with torch.no_grad():
        torch.testing.assert_close(plain(x), one.outputs(theta, x))


def test_answers_that_are_not_finite_are_no_predictions(carrying_world: Callable[..., World]) -> None:
    one = training(carrying_world(), _set_if_there("outputs", torch.inf))
    theta = one.theta_initial
    with pytest.raises(TrainerFailed, match="NaN or infinity"):
        one.outputs(theta, torch.zeros(2, 4))


def _set_if_there(name: str, value: float) -> Change:
    return lambda tensors: _set(name, value)(tensors) if name in tensors else None

"""One payment, one release: also when what is released is that there is none."""

from collections.abc import Callable
from typing import Any

import pytest

from sapefl_crypto.errors import CryptoError
from secure_sapefl.deploy.study_file import PrivacyTerms
from secure_sapefl.deploy.wire import ToServer, read_to_server
from secure_sapefl.protocol.messages import Refusal

PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="secure")
World = Callable[..., Any]


def too_large(*_: object) -> Any:
    raise CryptoError("An update outside the study's bound.")


def unusable(state: Any, _: object) -> Any:
    return None, state.own, (Refusal("north", "Its own model is no good."),)


@pytest.mark.parametrize("fault", [too_large, unusable])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_server_cannot_ask_until_the_noise_suits_it(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Callable[..., Any], restarted: bool
) -> None:
    """Whether an update fits depends on the records and on the noise. Every further try would tell more of the records,
    with new noise, on the payment for the first."""
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    agent = deployed.agents["north"]
    deployed.server.receive(0, agent.answer(deployed.server.next_letter(0)))
    letter = deployed.server.next_letter(0)

    def answer() -> ToServer:
        parts = deployed.agents["north"].answer(letter)
        return read_to_server(parts, deployed.file.keys_by_name, deployed.file.wire_name)

    with monkeypatch.context() as patch:
        patch.setattr(agent._site, "take_part", fault)
        first = answer()
    assert (first.upload, bool(first.declined)) == (None, True)
    (left,) = deployed.ledgers["north"].of("sent")
    assert (left.message, left.round_index, left.epsilon) == ("refusal", 0, agent.epsilon)
    if restarted:
        deployed.start_agent("north")
    second = answer()
    assert second.upload is None
    assert "answered before" in str(second.declined)


def test_a_refusal_that_needed_no_record_is_not_final(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An owner who raises the budget, or lifts a halt, can still take part in the round."""
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    agent = deployed.agents["north"]
    deployed.server.receive(0, agent.answer(deployed.server.next_letter(0)))
    letter = deployed.server.next_letter(0)
    halt = deployed.folder / "north" / "halted"
    halt.write_text("for a while")
    agent.answer(letter)
    halt.unlink()
    answered = read_to_server(agent.answer(letter), deployed.file.keys_by_name, deployed.file.wire_name)
    assert answered.upload is not None

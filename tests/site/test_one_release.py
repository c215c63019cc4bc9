"""One payment, one release: whenever a site is killed, and also when what is released is that there is none."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sapefl_crypto.errors import AggregateRejected, CryptoError, ValueRejected
from secure_sapefl.data.federation import Rows
from secure_sapefl.protocol.messages import Refusal
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.settings import PrivacyTerms
from secure_sapefl.transport.wire import ToServer, read_to_server, read_to_site

PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="secure")
World = Callable[..., Any]


def too_large(*_: object) -> Any:
    raise CryptoError("An update outside the study's bound.")


def unusable(state: Any, _: object) -> Any:
    return None, state.own, (Refusal("north", "Its own model is no good."),)


def invited(deployed: Any) -> Parts:
    """The message that invites the first site to the open round."""
    while True:
        message = deployed.server.next_message(0)
        if read_to_site(message, deployed.file.coordinator_keys, deployed.file.wire_name).invitation is not None:
            return message
        deployed.server.receive(0, deployed.agents["north"].answer(message))


def answer(deployed: Any, message: Parts) -> ToServer:
    parts = deployed.agents["north"].answer(message)
    return read_to_server(parts, deployed.file.keys_by_name, deployed.file.wire_name)


def die(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("fault", [too_large, unusable])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_server_cannot_ask_until_the_noise_suits_it(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Callable[..., Any], restarted: bool
) -> None:
    """Whether an update fits depends on the records and on the noise. Every further try would tell more of the records,
    with new noise, on the payment for the first."""
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message, agent = invited(deployed), deployed.agents["north"]
    with monkeypatch.context() as patch:
        patch.setattr(agent.site, "take_part", fault)
        first = answer(deployed, message)
    assert (first.upload, bool(first.declined)) == (None, True)
    (left,) = deployed.ledgers["north"].events("sent")
    assert (left.message, left.round_index, left.epsilon) == ("refusal", 0, agent.epsilon)
    if restarted:
        deployed.start_agent("north")
    second = answer(deployed, message)
    assert second.upload is None
    assert "answered before" in str(second.declined)


def test_a_refusal_that_needed_no_record_is_not_final(world: World) -> None:
    """An owner who raises the budget, or lifts a halt, can still take part in the round."""
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message, halt = invited(deployed), deployed.folder / "north" / "halted"
    halt.write_text("for a while")
    assert answer(deployed, message).upload is None
    halt.unlink()
    assert answer(deployed, message).upload is not None


def test_killed_once_the_ledger_says_sent_a_site_still_has_what_it_said(world: World) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message, ledger = invited(deployed), deployed.ledgers["north"]

    class Deadly(type(ledger)):  # type: ignore[misc]
        def append(self, event: Any) -> None:
            super().append(event)
            if event.kind == "sent":
                raise KeyboardInterrupt

    deployed.ledgers["north"] = deadly = Deadly(ledger)
    deployed.start_agent("north")
    with pytest.raises(KeyboardInterrupt):
        answer(deployed, message)
    deployed.ledgers["north"] = type(ledger)(deadly)
    deployed.start_agent("north")
    again = answer(deployed, message)
    assert again.upload is not None
    first, second = deployed.ledgers["north"].events("sent")
    assert (first.digest, second.note) == (second.digest, "the same bytes again")


def test_killed_before_the_upload_is_kept_a_site_does_not_send_last_rounds_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == 1)
    message = invited(deployed)
    with monkeypatch.context() as patch:
        patch.setattr("secure_sapefl.site.state.StateFiles.keep_upload", die)
        with pytest.raises(KeyboardInterrupt):
            answer(deployed, message)
    spent = deployed.agents["north"].epsilon
    again = deployed.start_agent("north")
    upload = answer(deployed, message).upload
    assert upload is not None
    assert upload.round_index == 1
    assert again.epsilon == spent


def test_what_was_sent_and_is_lost_is_not_made_again_by_the_same_process(world: World) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message = invited(deployed)
    assert answer(deployed, message).upload is not None
    (deployed.folder / "north" / "upload").unlink()
    assert "answered before" in str(answer(deployed, message).declined)


def test_with_other_rows_after_a_crash_the_round_is_paid_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing had left, and the noise follows from what the site declared, not from how many rows it has."""
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message, agent = invited(deployed), deployed.agents["north"]
    with monkeypatch.context() as patch:
        patch.setattr(agent.site, "take_part", die)
        with pytest.raises(KeyboardInterrupt):
            answer(deployed, message)
    rows = deployed.rows["north"]
    deployed.rows["north"] = replace(rows, train=Rows(rows.train.X[:-4], rows.train.y[:-4]))
    again = deployed.start_agent("north")
    assert answer(deployed, message).upload is not None
    assert again.epsilon == agent.epsilon


def test_a_refusal_says_no_number_of_the_update(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is not to read updates: not their largest value either."""
    deployed = world()
    deployed.start_all()
    message, agent = invited(deployed), deployed.agents["north"]

    def reaches(*_: object) -> Any:
        raise ValueRejected("The vector reaches 123.456; this cohort's parameters allow values up to 8.")

    monkeypatch.setattr(agent.site, "take_part", reaches)
    said = b"".join(agent.answer(message))
    assert b"parameters" in said
    assert b"123.456" not in said


def test_a_rejection_says_which_check_failed_and_not_by_how_much(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A residual is made from a decryption; a server that learns it learns about the noise, and about the tags' key."""
    deployed = world()
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == 1)
    message, agent = deployed.server.next_message(0), deployed.start_agent("north", max_rejected_sums=1)

    def off(*_: object) -> Any:
        raise AggregateRejected("tags", "Round 0, chunk 2: off by 4.7e-03, allowed 1.1e-09.")

    monkeypatch.setattr(agent.site, "absorb", off)
    first, again = b"".join(agent.answer(message)), b"".join(agent.answer(message))
    for said in (first, again, str(agent.halted).encode()):
        assert b"tags" in said
        assert b"4.7e-03" not in said
    assert any("4.7e-03" in event.note for event in deployed.ledgers["north"]), "its owner is told"

"""What observers are told: every message as it passes, in order, and nothing that changes the run."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

import secure_sapefl
from secure_sapefl import Config, Observer, RunEvent, resume, simulate
from secure_sapefl.engine.events import (
    SERVER,
    AggregateOpened,
    MessageSent,
    RoundBegun,
    RoundClosed,
    RunBegun,
    RunEnded,
    SitesTrained,
    TrainingEnded,
)
from secure_sapefl.engine.result import Result
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload

Make = Callable[..., Config]
Watched = tuple[list[RunEvent], Result]


@pytest.fixture(scope="module")
def watched(tiny: Make) -> Watched:
    events: list[RunEvent] = []
    return events, simulate(tiny(rounds=2), observers=[events.append])


def test_a_run_is_told_from_beginning_to_end(watched: Watched) -> None:
    events, result = watched
    kinds = [type(event) for event in events]
    invited, trained = [MessageSent] * 3, [SitesTrained] + [MessageSent] * 3
    a_round = [RoundBegun, *invited, *trained, MessageSent, AggregateOpened, RoundClosed]
    assert kinds == [RunBegun, *a_round, *a_round, TrainingEnded, RunEnded]
    assert events[-1] == RunEnded(result=result)


def test_every_message_says_from_whom_and_to_whom(watched: Watched) -> None:
    events, _ = watched
    begun = [event for event in events if isinstance(event, RoundBegun)]
    everybody = next(event.study.sites for event in events if isinstance(event, RunBegun))
    sent = Counter()
    for event in events:
        match event:
            case MessageSent(sender=sender, recipients=recipients, message=Invitation() as message):
                assert (sender, recipients) == (SERVER, (message.site,))
                assert message.site in begun[message.round_index].sites
            case MessageSent(sender=sender, recipients=recipients, message=RoundUpload() as message):
                assert (sender, recipients) == (message.site, (SERVER,))
            case MessageSent(sender=sender, recipients=recipients, message=RoundOutcome()):
                assert (sender, recipients) == (SERVER, everybody)
            case _:
                continue
        sent[type(event.message)] += 1
    assert sent == {Invitation: 6, RoundUpload: 6, RoundOutcome: 2}


def test_records_are_those_of_the_result(watched: Watched) -> None:
    events, result = watched
    closed = [event for event in events if isinstance(event, RoundClosed)]
    assert tuple(event.record for event in closed) == result.rounds
    assert closed[-1].similarity_matrix == result.similarity_matrix


def test_the_global_model_is_the_one_sites_end_with(watched: Watched) -> None:
    models = [event.theta_global for event in watched[0] if isinstance(event, AggregateOpened | TrainingEnded)]
    assert not models[0].equal(models[1])
    assert models[1].equal(models[2])


def test_watching_changes_nothing(watched: Watched, tiny: Make, numbers: Callable[..., object]) -> None:
    assert numbers(simulate(tiny(rounds=2)).summary()) == numbers(watched[1].summary())


def test_an_encrypted_run_passes_the_same_messages_unreadable(watched: Watched, tiny: Make) -> None:
    events: list[RunEvent] = []
    simulate(tiny(rounds=2, protection="ckks"), observers=[events.append])
    assert [type(event) for event in events] == [type(event) for event in watched[0]]
    plain, hidden = (
        [event.message for event in seen if isinstance(event, MessageSent) and isinstance(event.message, RoundUpload)]
        for seen in (watched[0], events)
    )
    for open_, closed in zip(plain, hidden, strict=True):
        assert (open_.site, open_.similarity_score) == (closed.site, closed.similarity_score)
        assert open_.update is not None
        assert closed.update is not None
        assert open_.update[-64:] not in closed.update


def test_an_observer_that_fails_ends_the_run_which_can_be_resumed(
    tiny: Make, tmp_path: Path, stop_after: Callable[..., None], numbers: Callable[..., object]
) -> None:
    stop_after(tiny(rounds=2), tmp_path / "run", 1)
    events: list[RunEvent] = []
    result = resume(tmp_path / "run", observers=[events.append])
    begun = events[0]
    assert isinstance(begun, RunBegun)
    assert begun.so_far.rounds == result.rounds[:1]
    assert [event.round_index for event in events if isinstance(event, RoundBegun)] == [1]
    assert numbers(result.summary()) == numbers(simulate(tiny(rounds=2)).summary())


def test_on_round_still_works_and_says_what_to_use(tiny: Make) -> None:
    seen: list[object] = []
    with pytest.warns(DeprecationWarning, match=r"observers=\[\.\.\.\]"):
        result = simulate(tiny(rounds=1), None, seen.append)
    assert tuple(seen) == result.rounds


def test_events_are_frozen_and_public() -> None:
    for kind in get_args(RunEvent):
        assert kind.__dataclass_params__.frozen
        assert getattr(secure_sapefl, kind.__name__) is kind
        with pytest.raises(dataclasses.FrozenInstanceError):
            kind.__setattr__(object.__new__(kind), dataclasses.fields(kind)[0].name, None)
    assert Observer is not None

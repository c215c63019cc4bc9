"""The ServerApp's end of the coordinator's socket, against a coordinator that answers from a list."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport import coordinator_socket
from secure_sapefl.transport.coordinator_socket import CoordinatorSession, Outgoing, SessionEnded

BEGUN = {"session": "s1", "seconds": 180.0, "at_once": 2}
Answers = list[Any]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answers]:
    """``asked(answer, ...)``: what the coordinator says in turn; a dictionary is a head, None a refusal."""

    def answer_with(*answers: Any) -> Answers:
        questions: Answers = []
        left: Iterator[Any] = iter(answers)

        def ask(_: Path, request: Parts) -> Parts | None:
            questions.append((json.loads(request[0]), request[1:]))
            found = next(left)
            if isinstance(found, Exception):
                raise found
            head, *parts = found if isinstance(found, tuple) else (found,)
            return None if head is None else (json.dumps(head).encode(), *parts)

        monkeypatch.setattr(coordinator_socket, "ask", ask)
        return questions

    return answer_with


def test_a_session_begins_and_brings_messages_until_the_study_is_over(asked: Callable[..., Answers]) -> None:
    questions = asked(BEGUN, ({"over": False, "node": 7}, b"one", b"two"), {"over": True, "node": None})
    session = CoordinatorSession(Path("socket"))
    assert (session.seconds, session.at_once, session.over) == (180.0, 2, False)
    assert session.next_for([7, 8]) == Outgoing(7, (b"one", b"two"))
    assert session.next_for((7, 8)) is None
    assert session.over
    assert questions[1] == ({"ask": "next", "session": "s1", "nodes": [7, 8]}, ())


def test_an_answer_is_handed_over_and_a_missing_one_is_said_to_be_missing(asked: Callable[..., Answers]) -> None:
    questions = asked(BEGUN, {}, {})
    session = CoordinatorSession(Path("socket"))
    session.came(7, (b"answer",))
    session.came(8, None)
    assert questions[1:] == [
        ({"ask": "came", "session": "s1", "node": 7, "answered": True}, (b"answer",)),
        ({"ask": "came", "session": "s1", "node": 8, "answered": False}, ()),
    ]


@pytest.mark.parametrize("refusal", [None, OSError("too large")])
def test_an_answer_that_is_not_taken_counts_as_none(asked: Callable[..., Answers], refusal: Any) -> None:
    questions = asked(BEGUN, refusal, {})
    CoordinatorSession(Path("socket")).came(7, (b"huge",))
    assert [head["answered"] for head, _ in questions[1:]] == [True, False]


def test_a_session_that_is_not_the_newest_ends(asked: Callable[..., Answers]) -> None:
    asked(BEGUN, None)
    with pytest.raises(SessionEnded, match="another relay has taken over"):
        CoordinatorSession(Path("socket")).next_for([1])

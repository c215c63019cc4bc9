"""What the server knows of sites and rounds, and tells: no score and no weight."""

from secure_sapefl.coordinator.progress import UNHEARD, ClosedRound, OpenRound, SiteProgress
from secure_sapefl.protocol.messages import Refusal


def test_a_round_waits_for_those_of_its_cohort_who_have_not_answered() -> None:
    current = OpenRound(0, ("a", "b", "c"), opened=0.0, deadline=60.0, left_out=())
    assert current.waiting == ["a", "b", "c"]
    current.answered.update({"b", "elsewhere"})
    assert current.waiting == ["a", "c"]


def test_a_site_nobody_has_heard_of() -> None:
    assert SiteProgress().to_json("a", online=False, now=100.0) == {
        "site": "a",
        "online": False,
        "absorbed": 0,
        "answer": UNHEARD,
        "rejected": None,
        "bytes_up": 0,
        "bytes_down": 0,
        "seconds_since_heard": None,
    }


def test_time_since_a_site_was_heard_of_is_counted_by_the_same_clock() -> None:
    progress = SiteProgress(absorbed=2, answer="sent", heard=90.0, bytes_up=7)
    told = progress.to_json("a", online=True, now=100.0)
    assert (told["seconds_since_heard"], told["absorbed"], told["answer"], told["bytes_up"]) == (10.0, 2, "sent", 7)


def test_how_a_round_went() -> None:
    closed = ClosedRound(sent=2, seconds=1.5, left_out=(Refusal("c", "late"),))
    assert closed.to_json() == {"sent": 2, "seconds": 1.5, "left_out": [{"site": "c", "reason": "late"}]}

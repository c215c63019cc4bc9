"""What a person reads on stderr while a run goes on."""

import pytest

from secure_sapefl.cli.progress import download_progress, round_progress
from secure_sapefl.engine.events import RoundBegun, RoundClosed
from secure_sapefl.engine.result import RoundRecord, Traffic
from secure_sapefl.metrics import Scores, Spread
from secure_sapefl.protocol.messages import Refusal

PEERS = {"peers_passed": 1.5, "peers_received": 2.0}
NOTHING = Spread(())


def record(**changes: object) -> RoundRecord:
    values = {
        "round_index": 1,
        "personal": Scores({"accuracy": Spread((0.5, 1.0)), "auc": Spread((0.25, 0.75))}),
        "everywhere": Scores({"accuracy": NOTHING, "auc": NOTHING}),
        "changed": True,
        "weights": (),
        "traffic": Traffic(up=1, down=1, update=1),
        "seconds": {},
        "total_seconds": 1.0,
        "similarity": {},
        "refusals": (),
    }
    return RoundRecord(**(values | changes))


def printed(capsys: pytest.CaptureFixture[str], quiet: bool = False, **changes: object) -> str:
    with round_progress(3, quiet) as hear:
        hear(RoundBegun(round_index=1, sites=("a",)))
        hear(RoundClosed(record=record(**changes), similarity_matrix=[]))
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_a_line_a_round_with_the_means_over_sites(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == "round 2/3  accuracy 0.750  AUC 0.500\n"


def test_a_round_that_was_not_evaluated_says_no_accuracy(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, personal=Scores({"accuracy": NOTHING, "auc": NOTHING})) == "round 2/3  done\n"


def test_peers_and_their_scores_where_the_method_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert "similar peers 1.5 of 2.0" in printed(capsys, similarity=PEERS)
    assert "scores 0.2 to 0.9" in printed(capsys, similarity=PEERS | {"score_min": 0.2, "score_max": 0.9})


def test_who_was_left_out_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, refusals=(Refusal("north", "[bold]too large"),)).splitlines()
    assert lines[1] == "round 2: north left out: [bold]too large"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"changed": False}, True),
        ({"changed": True}, False),
        ({"changed": False, "traffic": Traffic(up=0, down=0, update=0)}, False),
        ({"changed": False, "refusals": (Refusal("server", "tags are off"),)}, False),
    ],
    ids=["zero scores", "moved", "nothing sent", "sum rejected"],
)
def test_a_global_model_that_stays_is_told_where_scores_were_zero(
    capsys: pytest.CaptureFixture[str], changes: dict[str, object], said: bool
) -> None:
    assert ("all scores are zero" in printed(capsys, **changes)) == said


def test_a_site_that_is_called_like_an_escape_sequence_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, refusals=(Refusal("\x1b]0;owned\x07", "sits out\nround 9/9  accuracy 1.000"),))
    assert "left out" in told
    assert "\x1b" not in told
    assert "\nround 9/9" not in told


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, quiet=True) == ""


def test_downloads_are_shown_where_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    with download_progress():
        pass
    assert capsys.readouterr().err == ""
    with download_progress() as report:
        report("mnist.npz", 500, 1000)
        report("mnist.npz", 1000, 1000)
    assert capsys.readouterr().err.count("mnist.npz") == 1

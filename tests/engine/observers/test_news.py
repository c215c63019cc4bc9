"""A round in a few words, and what went otherwise than planned."""

from dataclasses import replace
from pathlib import Path

from secure_sapefl.engine.observers.news import news_of, remarks_on
from secure_sapefl.engine.result import Result, Traffic
from secure_sapefl.metrics import Scores, Spread
from secure_sapefl.protocol.messages import Refusal

NOTHING = Scores({"accuracy": Spread(()), "auc": Spread(())})


def test_a_round_in_a_few_words(whole: tuple[Path, Result]) -> None:
    record = whole[1].rounds[-1]
    shown = {"peers_passed": 1.0, "peers_received": 2.0, "score_min": 0.25, "score_max": 1.0}
    assert news_of(replace(record, similarity=shown)) == (
        f"accuracy {whole[1].accuracy.mean:.3f}  AUC {whole[1].auc.mean:.3f}  similar peers 1.0 of 2.0  "
        "scores 0.2 to 1.0"
    )
    assert news_of(replace(record, personal=NOTHING, similarity={})) == "done"


def test_who_was_left_out_is_said_on_one_printable_line(whole: tuple[Path, Result]) -> None:
    refused = replace(whole[1].rounds[0], refusals=(Refusal("north", "bad\n\x1b[2Jframe"),))
    assert list(remarks_on(refused)) == ["round 1: north left out: bad\N{REPLACEMENT CHARACTER}"
        "\N{REPLACEMENT CHARACTER}[2Jframe"]  # fmt: skip


def test_a_round_that_moved_nothing_says_so_unless_the_server_was_refused(whole: tuple[Path, Result]) -> None:
    still = replace(whole[1].rounds[0], changed=False)
    assert list(remarks_on(still)) == ["round 1: all scores are zero, the global model stays as it was"]
    silent = replace(still, traffic=Traffic(up=0, down=0, update=0))
    assert list(remarks_on(silent)) == []
    rejected = replace(still, refusals=(Refusal("server", "wrong tags"),))
    assert list(remarks_on(rejected)) == ["round 1: server left out: wrong tags"]

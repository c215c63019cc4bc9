"""A round in a few words, for whoever waits for it: the line of a terminal, the bar of a notebook."""

from collections.abc import Iterator

from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.metrics import title_of
from secure_sapefl.plain_text import printable


def news_of(record: RoundRecord) -> str:
    """Accuracy and AUC, or the task's own, of a round that was evaluated; peers of a method that has them, and their
    scores where sent."""
    similarity, parts = record.similarity, []
    if record.personal.evaluated:
        shown = list(record.personal.metrics.items())[:2]
        parts += [f"{title_of(name)} {spread.mean:.3f}" for name, spread in shown]
    if "peers_passed" in similarity:
        parts.append(f"similar peers {similarity['peers_passed']:.1f} of {similarity['peers_received']:.1f}")
        if "score_min" in similarity:
            parts.append(f"scores {similarity['score_min']:.1f} to {similarity['score_max']:.1f}")
    return "  ".join(parts) or "done"


def remarks_on(record: RoundRecord) -> Iterator[str]:
    """What went otherwise than planned, a sentence each."""
    for refusal in record.refusals:
        yield printable(f"round {record.round_index + 1}: {refusal.site} left out: {refusal.reason}")
    if _all_scores_zero(record):
        yield f"round {record.round_index + 1}: all scores are zero, the global model stays as it was"


def _all_scores_zero(record: RoundRecord) -> bool:
    """Updates came and a sum was made, and still nothing moved. A rejected sum is told as the server's refusal."""
    rejected = any(refusal.site == "server" for refusal in record.refusals)
    return bool(record.traffic.update) and not record.changed and not rejected

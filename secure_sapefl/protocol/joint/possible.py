"""Which studies can have joint keys. The others are refused before anything is read or made."""

from typing import Final

from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.study import Study

RECOMMENDED_FROM: Final = 4
"""Senders a round from which on joint keys are worth their leg: of fewer, each knows nearly all from the sum itself."""


def require_possible(study: Study) -> None:
    if study.keys == "shared":
        return
    if study.scores == "hidden":
        raise BadInput(
            "Joint keys and hidden scores do not go together: a committee opens a sum only if no site is nearly all of "
            "it, and hidden scores would keep that from the committee until the sum is open. Use --scores open, or "
            "--keys shared."
        )
    if not study.relay_only and study.cohort_size < study.fewest_in_a_sum:
        way = "Have more sites take part" if study.colluders == 1 else "Have more sites take part, lower --colluders"
        raise BadInput(
            f"Joint keys that withstand colluding sites (--colluders {study.colluders}) need {study.fewest_in_a_sum} "
            f"senders in a round, and {study.cohort_size} of {len(study.sites)} sites take part in one. {way}, or use "
            "--keys shared."
        )

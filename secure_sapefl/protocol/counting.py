"""A round in which sites count: the integers of `sums.py`, carried by rounds like those of training.

It is a round of a study of its own, whose updates are counts and whose sites weigh the same: the server, its adders,
the legs of a committee and every check of a sum are those of training, with whichever keys.
"""

from typing import Final

import torch

from sapefl_crypto.exact_plan import ExactPlan
from secure_sapefl.config import KeyChoice
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.messages import RoundOutcome, SiteId
from secure_sapefl.protocol.site import absorb
from secure_sapefl.protocol.study import Study
from secure_sapefl.protocol.sums import LIMBS, Counts, counts_of, limbs_of

MOST_SITES: Final = 2048  # the mean of so many limbs still has its last bit in 32
_EQUAL: Final = 1.0  # everybody's score


def counting_study(
    name: str,
    sites: tuple[SiteId, ...],
    *,
    entries: int,
    least: int,
    keys: KeyChoice = "shared",
    colluders: int = 1,
    seed: int = 0,
) -> Study:
    """One round in which every site sends ``entries`` counts; no sum of fewer than ``least`` is made or opened."""
    if len(sites) > MOST_SITES:
        raise BadInput(f"{len(sites):,} sites: exact counts are summed over at most {MOST_SITES:,}.")
    return Study(
        name=name,
        sites=sites,
        participation=1.0,
        seed=seed,
        parameters=LIMBS * entries,
        max_score=_EQUAL,
        least_contributors=least,
        keys=keys,
        colluders=colluders,
    )


def counts_answer(counts: Counts, site: SiteId, study: Study, plan: ExactPlan) -> Answer:
    """A site's counts, to be protected like an update."""
    entries = study.parameters // LIMBS
    if counts.shape != (entries,) or counts.min(initial=0) < 0 or counts.max(initial=0) >= 1 << 48:
        raise BadInput(f"Site {site!r}: expected {entries:,} counts from 0 to 2^48.")
    return Answer(site=site, similarity_score=_EQUAL, update=limbs_of(counts, plan), theta_personal=None)


def opened_totals(outcome: RoundOutcome, codec: SiteCodec, study: Study, plan: ExactPlan) -> Counts | None:
    """The total, at a site, whose codec checks that it is the sum of those whom the server names; None where there is
    no sum. `AggregateRejected` where it does not hold."""
    nothing = torch.empty(0)
    mean = absorb(nothing, outcome, codec, study.name, lambda _, mean: mean)
    return None if mean is nothing else counts_of(mean.cpu().numpy(), len(outcome.weights), plan)

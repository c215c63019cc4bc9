"""A sum of counts in a simulation: the round of `protocol/counting.py`, under the protection that the run has."""

from collections.abc import Mapping
from dataclasses import dataclass

from secure_sapefl.config import Config, ProtectionName
from secure_sapefl.engine.protection import exact_numbers, protected_by
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.counting import counting_study, counts_answer, opened_totals
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import Study
from secure_sapefl.protocol.sums import Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    totals: Counts
    bytes_up: int  # that the site with the longest message sent


def summed(counts: Mapping[SiteId, Counts], study: Study, protection: ProtectionName) -> Summed:
    """Every site counts and encrypts, the server adds what it cannot read, a site opens the total."""
    protected = protected_by(protection, study)
    rounds, plan = protected.rounds(study, {}), exact_numbers(study)
    rounds.open(0, ())
    uploads = [protected.protect(counts_answer(one, site, study, plan), study, 0) for site, one in counts.items()]
    for upload in uploads:
        rounds.server.accept(upload)
    outcome = rounds.close(())
    totals = opened_totals(outcome, protected.codec(), study, plan)
    if totals is None:
        why = " ".join(refusal.reason for refusal in outcome.refusals)
        raise BadInput(f"No sum of the sites' counts was made: {why}")
    return Summed(totals=totals, bytes_up=max(upload.size for upload in uploads))


def counting_round(config: Config, name: str, sites: tuple[SiteId, ...], entries: int) -> Study:
    """With the keys of a run; a sum of one site would be that site's counts."""
    return counting_study(
        name, sites, entries=entries, least=2, keys=config.keys, colluders=config.colluders, seed=config.seed
    )

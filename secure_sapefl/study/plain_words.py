"""What a study does with a site's records, in words for a person who decides about it, not for one who programs it.

Who can read what is said by `protocol/disclosure.py`; here are this study's own numbers and names.
"""

from dataclasses import dataclass
from typing import Final

from secure_sapefl.protocol.disclosure import Disclosure, Exposure, Item
from secure_sapefl.protocol.results import RESULTS, least_senders
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.counting_words import bytes_of, what_leaves
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.key_shares import shares_bytes, shares_words
from secure_sapefl.study.settings import PrivacyTerms
from secure_sapefl.study.terms import StudyTerms

_SUM: Final = "the sum of some records' gradients at the common model"
_SEALED_BYTES = 4  # a number of a sealed model, float32
_FIELDS: Final[dict[Item, str]] = {
    "participation": "participation",
    "update": "update",
    "score": "similarity_score",
    "personal model": "theta_personal",
    "shares": "shares",
}
"""What leaves a site in a round, and the message's name for it."""
_ONCE: Final[dict[Item, str]] = {"counts": "counts", "results": "results"}
"""What leaves in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Something that leaves a site: what it is, how much, who can read it, and what pays for it in privacy."""

    field: str  # of the message
    name: str
    what: str
    size: int  # bytes a round the site takes part in, or of what leaves once
    server: str  # what the server does with it
    sites: str  # what the other sites do
    noised: bool  # paid for from the study's privacy budget
    shared: bool = False  # by a share of a noise that only the sum has whole
    once: bool = False  # before the first round or after the last, and in none of them

    @property
    def privacy(self) -> str:
        if not self.noised:
            return "no noise added"
        return f"{'a share of the noise' if self.shared else 'noise'} added; paid from the privacy budget"


def exposure(terms: StudyTerms) -> Exposure:
    asked = terms.file.peers_per_client
    who = "all" if asked is None else f"up to {asked}, drawn anew each round,"
    return Exposure(
        algorithm=terms.blueprint.algorithm,
        protection="ckks",
        scores=terms.blueprint.study.scores,
        keys=terms.file.keys,
        colluders=terms.file.colluders,
        peers=f"{who} of {', '.join(terms.file.sites)}",
        counts=terms.file.preparation == "common",
        results=terms.file.metrics != "none",
    )


def results_words(file: StudyFile) -> str:
    """What becomes of a site's results on its own test records."""
    if file.metrics == "none":
        return "stay at the site"
    least = least_senders(file.min_cohort)
    once = f"leave once, after the last round, encrypted, as a part of a sum over at least {least} sites"
    if file.privacy is None:
        return f"{once}: {', '.join(RESULTS)}. Sites open the sum and tell the server, which shows mean and spread"
    return (
        f"{once}: how many test records the common model gets right and wrong, and its Brier score, with noise of "
        f"deviation {noise_in_records(file.privacy):.3g} records, paid from the study's budget. Its AUC and "
        "calibration error and all results of the own model stay: no small noise hides what one record does to them. "
        "Sites open the sum and tell the server, which shows it over all records"
    )


def noise_in_records(privacy: PrivacyTerms) -> float:
    """Of each count of test records that a site of a private study sends: the deviation of its noise."""
    from secure_sapefl.privacy.counts import RESULT_NOISE, multiplier_of_results  # takes seconds to import
    from secure_sapefl.privacy.events import Budget

    return RESULT_NOISE.deviation(multiplier_of_results(Budget(privacy.epsilon, privacy.delta))) / RESULT_NOISE.step


def leaving(terms: StudyTerms) -> tuple[Leaving, ...]:
    """Everything that leaves a site in a round it takes part in."""
    return tuple(_leaving(one, terms) for one in exposure(terms).disclosures() if one.item in _FIELDS)


def leaving_once(terms: StudyTerms) -> tuple[Leaving, ...]:
    """What leaves a site in no round: counts before the first one, test results after the last."""
    return tuple(_leaving(one, terms) for one in exposure(terms).disclosures() if one.item in _ONCE)


def _leaving(disclosed: Disclosure, terms: StudyTerms) -> Leaving:
    item, once = disclosed.item, disclosed.item in _ONCE
    what, size = (_what_once if once else _what)(item, terms)
    return Leaving(
        field=(_ONCE if once else _FIELDS)[item],
        name=item,
        what=what,
        size=size,
        server=disclosed.server.does,
        sites=disclosed.sites.does,
        noised=terms.file.privacy is not None if once else _FIELDS[item] in _paid_for(terms),
        shared=terms.shared is not None,
        once=once,
    )


def _what_once(item: Item, terms: StudyTerms) -> tuple[str, int]:
    if item == "results":
        return f"test results {results_words(terms.file)}", terms.params.fresh_chunk_bytes
    counting = CountingTerms.before_training(terms.file)
    assert counting is not None, "a study whose sites count before they train"
    return f"before the first round, {what_leaves(counting)}", bytes_of(counting)


def _what(item: Item, terms: StudyTerms) -> tuple[str, int]:
    """In this study, with its numbers; and the bytes a round."""
    file, blueprint, params = terms.file, terms.blueprint, terms.params
    if item == "update":
        count = blueprint.study.parameters
        what = "what training changed in the common model" if terms.shared is None else _SUM
        words = f"{what}: {count:,} numbers, encrypted"
        key = "" if file.keys == "shared" else " under a key of this site and round"
        return f"{words}{key} (CKKS, {params.security_bits} bits)", params.chunks(count) * params.fresh_chunk_bytes
    if item == "shares":
        return f"beside the update, {shares_words(terms.study)}", shares_bytes(terms.study)
    if item == "personal model":
        count = blueprint.model.parameters
        return f"the model fitted to this site's records: {count:,} numbers, sealed (AES-256)", _SEALED_BYTES * count
    if item == "score":
        alike = "how alike this site and its peers are: one number"
        counts = "how much the update counts, for instance the declared number of records: one number"
        return alike if blueprint.algorithm.relays_models else counts, 8
    return f"that this site takes part, in about {file.participation:.0%} of {file.rounds} rounds", 0


def _paid_for(terms: StudyTerms) -> set[str]:
    privacy = terms.privacy()
    if privacy is None:
        return set()
    releases = privacy.releases
    return {one.pays_for for one in releases.trainings} | {one.pays_for for one in releases.queries}

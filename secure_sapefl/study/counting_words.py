"""What a round of counts is, in words for a person who decides about it or reads its table."""

import math
from typing import Any, Final

from secure_sapefl.privacy.events import TABLE_ONE
from secure_sapefl.protocol.sums import LIMBS
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.key_shares import shares_bytes, shares_words

SEEN_FIRST: Final = "Sites open the totals before small cells are left out, and see them."
TWO_SITES: Final = "With two sites in a sum, the total less one's own counts is the other's."
_NO_NOISE: Final = "No noise was added: an exact total can tell of a single patient."


def left_out(smallest: int) -> str:
    return f"–: a count below {smallest}, or one from which such a count would follow. {SEEN_FIRST}"


def noise_words(deviation: float, sites: int) -> str:
    """Twice the deviation of a sum over so many sites, each with noise of its own."""
    off = 2 * deviation * math.sqrt(sites)
    return (
        f"Private: every site's counts carry noise of deviation {deviation:.3g}; a count over {sites} sites is off by "
        f"up to about {off:.0f} (95 %)."
    )


def what_leaves(terms: CountingTerms) -> str:
    """In this study, with its numbers."""
    columns = len(terms.plan.features)
    by = ", by outcome" if terms.release == TABLE_ONE else ""
    kinds = "missing values, sums, sums of squares, histograms on public ranges and levels"
    if terms.multiplier is not None:
        kinds = "missing values, histograms on public ranges and levels, with noise"
    key = "" if terms.study.keys == "shared" else f", and {shares_words(terms.study)}"
    return f"counts of {columns} columns{by}: {kinds}; {terms.plan.entries:,} numbers, encrypted (CKKS){key}"


def bytes_of(terms: CountingTerms) -> int:
    """With the shares of the key, where it is the site's own."""
    return terms.params.chunks(LIMBS * terms.plan.entries) * terms.params.fresh_chunk_bytes + shares_bytes(terms.study)


def who_reads(terms: CountingTerms) -> str:
    return (
        f"The server adds what it cannot read; sites open the total over at least {terms.study.fewest_in_a_sum} of "
        f"{len(terms.file.sites)} sites, and nobody's own counts"
    )


def warnings_of(terms: CountingTerms) -> tuple[str, ...]:
    """What an owner has to know before taking part."""
    small = (SEEN_FIRST,) if terms.release == TABLE_ONE else ()
    return (*small, *((TWO_SITES,) if terms.study.fewest_in_a_sum <= 2 else ()))


def table_notes(terms: CountingTerms, sites: int) -> tuple[str, ...]:
    """Under a Table 1."""
    noise = terms.multiplier
    return (
        f"Sums over {sites} sites, encrypted; the server held no key.",
        left_out(terms.payer.smallest_cell),
        *((TWO_SITES,) if sites == 2 else ()),
        _NO_NOISE if noise is None else noise_words(terms.noise.deviation(noise), sites),
    )


def table_facts(terms: CountingTerms) -> dict[str, str]:
    """A study of kind statistics, for people."""
    study, budget, noise = terms.file, terms.budget, terms.multiplier
    private = "no differential privacy: totals are exact"
    if budget is not None and noise is not None:
        deviation = terms.noise.deviation(noise)
        private = (
            f"at most ε {budget.epsilon:g} at δ {budget.delta:g} for each record; noise of deviation {deviation:.3g}"
        )
    return {
        "study": study.name,
        "digest": study.digest,
        "purpose": study.purpose or "not said",
        "kind": "a Table 1 over all sites, in one round; no model is trained",
        "coordinator": f"{study.coordinator_keys.name}, key {study.coordinator_keys.fingerprint}",
        "release": f"secure-sapefl {study.package}",
        "leaves a site": f"once, {what_leaves(terms)}, {bytes_of(terms) / 1000:,.0f} kB",
        "who reads it": who_reads(terms),
        "to know": " ".join(warnings_of(terms)),
        "small cells": f"counts below {study.smallest_cell} are left out of the table, and those that would tell them",
        "privacy": private,
    }


def to_json(terms: CountingTerms) -> dict[str, Any]:
    return {
        "digest": terms.file.digest,
        "study": terms.file.model_dump(mode="json", exclude_none=True),
        "sites": {keys.name: keys.fingerprint for keys in terms.file.sites_keys},
        "coordinator": terms.file.coordinator_keys.fingerprint,
        "leaves": [{"field": "counts", "what": what_leaves(terms), "bytes": bytes_of(terms)}],
        "warnings": list(warnings_of(terms)),
    }


def note(terms: CountingTerms) -> str:
    """For a data protection officer, in Markdown."""
    rows = "".join(f"| {name} | {value} |\n" for name, value in table_facts(terms).items())
    return f"# {terms.file.name}: a Table 1 over all sites\n\n| | |\n|---|---|\n{rows}"

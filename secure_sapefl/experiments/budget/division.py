"""Where a site's budget goes, before anything is run: shares of each release, and the noise on similarities.

Both follow from public numbers, for the site of median size.
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from statistics import median_low
from typing import Final

from secure_sapefl.algorithms.own import configured
from secure_sapefl.config import Config
from secure_sapefl.experiments.tables import NOTHING, Sheet
from secure_sapefl.privacy.calibration import Noise, calibrate, score_share
from secure_sapefl.privacy.scores import score_deviation
from secure_sapefl.privacy.shared.setup import counting_terms
from secure_sapefl.privacy.study import Terms
from secure_sapefl.streams import Purpose

PEERS: Final = (1, 2, 5, 10, 20)
QUESTIONS: Final = {
    Purpose.SIMILARITY_ROWS: "similarities",
    Purpose.ANCHOR_ROWS: "likeness to anchors",
    Purpose.FISHER_BATCHES: "Fisher weight",
    Purpose.LABEL_SHARES: "label shares",
    Purpose.START_ROWS: "fit of peers",
}


def division_sheets(configs: Sequence[Config], sizes: Sequence[int]) -> list[Sheet]:
    """One method under several budgets; empty where it releases nothing."""
    if not configs:
        return []
    rows = median_low(sizes)
    terms = [terms_of(config) for config in configs]
    if not terms[0].releases.trainings:
        return []
    noises = [calibrate(term.budget, term.schedule(rows)) for term in terms]
    sheets = [_shares(configs[0].method, terms, noises, rows)]
    if any(query.purpose is Purpose.SIMILARITY_ROWS for query in terms[0].releases.queries):
        sheets.append(_score_noise(configs[0], terms, noises, rows, len(sizes)))
    return sheets


def shared_sheet(configs: Sequence[Config], sizes: Sequence[int]) -> Sheet:
    """Both numbers of a study with shared noise under several budgets, and what the smaller one rests on."""
    plans = [counting_terms(config, configured(config.method, config.options)[1], sizes, "").plan for config in configs]
    return Sheet(
        title=f"Shared noise: {plans[0].steps} steps, {sum(sizes):,} declared {plans[0].unit}s at {len(sizes)} sites",
        header=("ε_shared", "m", "t", "ε_max", "rate", "noise of the sum", "noise of a share"),
        rows=tuple(
            (
                f"{plan.budget.epsilon:g}",
                str(plan.parties.contributors),
                str(plan.parties.colluders),
                f"{plan.epsilon_max:.3g}",
                f"{plan.rate:.3g}",
                f"{plan.noise:.2f}",
                f"{plan.share:.2f}",
            )
            for plan in plans
        ),
    )


def terms_of(config: Config) -> Terms:
    terms = Terms.from_config(config, *configured(config.method, config.options), study="")
    assert terms is not None  # every budget of a comparison is one
    return terms


def _shares(method: str, terms: Sequence[Terms], noises: Sequence[Noise], rows: int) -> Sheet:
    releases = terms[0].releases
    epochs = Counter[str]()
    for training in releases.trainings:
        epochs[training.pays_for] += training.epochs
    lines = []
    for term, noise in zip(terms, noises, strict=True):
        scores = score_share(term.budget, term.schedule(rows), noise) if releases.queries else 0.0
        parts = [f"{(1 - scores) * count / epochs.total():.0%}" for count in epochs.values()]
        parts += [f"{scores / len(releases.queries):.0%}" for _ in releases.queries]
        lines.append((f"{term.budget.epsilon:g}", _shown(noise.training), _shown(noise.score), *parts))
    asked = (f"{QUESTIONS.get(q.purpose, 'question')} for {q.pays_for}" for q in releases.queries)
    return Sheet(
        title=f"{method}: noise and shares of the budget (RDP at its best order), a site of {rows} rows",
        header=("ε", "noise multiplier", "score noise", *epochs, *asked),
        rows=tuple(lines),
    )


def _score_noise(config: Config, terms: Sequence[Terms], noises: Sequence[Noise], rows: int, sites: int) -> Sheet:
    most = ceil(config.participation * sites - 1e-9) - 1
    counts = sorted({k for k in PEERS if k < most} | {max(most, 1)})
    return Sheet(
        title=f"{config.method}: noise on each similarity, which lies in [0, 1], by peers_per_client; {rows} rows",
        header=("ε", *(f"{k} peers" if k < most else f"all {k} peers" for k in counts)),
        rows=tuple(
            (
                f"{term.budget.epsilon:g}",
                *(f"± {score_deviation(noise.score, k, rows):.3f}" if noise.score else NOTHING for k in counts),
            )
            for term, noise in zip(terms, noises, strict=True)
        ),
    )


def _shown(noise: float | None) -> str:
    return NOTHING if noise is None else f"{noise:.2f}"

"""Where each site's budget went, release by release: the ledgers of a run, replayed from its public terms.

A run records what its sites spent in all. Who was invited, with which noise and for how many steps, follows from its
configuration, so the events can be written again and counted by release. A replay that does not end at the recorded
epsilon (a ledger that other studies use too, say) is not shown.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from secure_sapefl.algorithms.own import configured
from secure_sapefl.config import Config, Settings
from secure_sapefl.engine.assembly import study_name
from secure_sapefl.protocol.blueprint import shares_noise
from secure_sapefl.protocol.study import draw_cohort
from secure_sapefl.report.run import Run

if TYPE_CHECKING:
    from secure_sapefl.algorithms.base import Algorithm
    from secure_sapefl.privacy.ledger import Ledger
    from secure_sapefl.privacy.paying import AnyTerms
    from secure_sapefl.privacy.study import StudyPrivacy

FIELDS = {"update": "Update", "theta_personal": "Personal model", "similarity_score": "Score"}


def replay(config: Config, counted: Mapping[str, int], rounds: int) -> "StudyPrivacy | None":
    """The study's privacy as it stood after so many rounds; None for a run without a budget. Rows are what sites
    declared; a run of an earlier release ``counted`` them."""
    if config.dp_epsilon is None:
        return None
    from secure_sapefl.privacy.errors import PrivacyWarning  # takes seconds to import, so only where it is needed
    from secure_sapefl.privacy.study import StudyPrivacy

    algorithm, options = configured(config.method, config.options)
    declared = {} if config.dp_public is None else config.dp_public.rows
    rows = {site: declared.get(site, count) for site, count in counted.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the run itself has warned
        privacy = StudyPrivacy(_terms(config, algorithm, options, [*rows.values()]), rows)
    for round_index in range(rounds):
        privacy.recall(round_index, draw_cohort(config.seed, config.participation, len(rows), round_index))
    return privacy


def _terms(config: Config, algorithm: "Algorithm", options: Settings, rows: Sequence[int]) -> "AnyTerms":
    from secure_sapefl.privacy.shared.setup import counting_terms
    from secure_sapefl.privacy.study import Terms

    if shares_noise(config, algorithm):
        return counting_terms(config, options, rows, study_name(config))
    terms = Terms.from_config(config, algorithm, options, study_name(config))
    assert terms is not None  # there is a budget
    return terms


def by_release(run: Run) -> tuple[Mapping[str, float], ...] | None:
    """For every site, what each release would have cost alone. Together they cost more, but less than their sum."""
    if run.rows is None or not run.epsilons:
        return None
    rows = dict(zip(run.summary["client_names"], run.rows, strict=True))
    privacy = replay(run.config, rows, len(run.rounds))
    if privacy is None or not _agrees([site.ledger.epsilon for site in privacy.sites], run.epsilons):
        return None
    return tuple(_alone(site.ledger) for site in privacy.sites)


def _alone(ledger: "Ledger") -> dict[str, float]:
    from secure_sapefl.privacy.accounting import composition, rdp_epsilon

    return {
        field: rdp_epsilon(composition(e for e in ledger.events if e.release == field), ledger.budget.delta)
        for field in sorted({event.release for event in ledger.events})
    }


def _agrees(replayed: list[float], recorded: tuple[float | None, ...]) -> bool:
    return all(
        spent is not None and math.isclose(again, spent, rel_tol=1e-6)
        for again, spent in zip(replayed, recorded, strict=True)
    )

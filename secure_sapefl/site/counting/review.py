"""What an owner decides about counts: of a Table 1, or before the first round of a study that trains."""

from collections.abc import Iterator, Sequence

from secure_sapefl.privacy.accounting import rdp_epsilon, spent
from secure_sapefl.privacy.counts import count_event
from secure_sapefl.privacy.delta import weak_delta
from secure_sapefl.privacy.events import Event
from secure_sapefl.protocol.disclosure import keys_words
from secure_sapefl.site.policy import Line, Policy
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.counting_words import bytes_of, warnings_of, what_leaves, who_reads
from secure_sapefl.study.file import StudyFile


def judge_table(terms: CountingTerms, policy: Policy, rows: int, events: Sequence[Event]) -> tuple[Line, ...]:
    """A study of kind statistics, by what the site declares."""
    study = terms.file
    return (
        Line(topic="purpose", says="a Table 1 over all sites, in one round; no model is trained", verdict="note"),
        *_counts(terms),
        Line(
            topic="joint keys" if study.keys == "joint" else "shared key",
            says=keys_words(study.keys, study.colluders),
            verdict="note",
        ),
        _cohort(terms, policy),
        _told(policy),
        *_privacy(terms, policy, rows, events),
    )


def judge_preparation(file: StudyFile) -> tuple[Line, ...]:
    """What leaves before the first round, where sites agree on a preparation; its price is part of the study's."""
    terms = CountingTerms.before_training(file)
    return () if terms is None else tuple(_counts(terms))


def _counts(terms: CountingTerms) -> Iterator[Line]:
    says = f"once, {what_leaves(terms)}, {bytes_of(terms) / 1000:,.0f} kB. {who_reads(terms)}."
    yield Line(topic=f"leaves: counts ({terms.release})", says=says, verdict="note")
    for warning in warnings_of(terms):
        yield Line(topic="totals", says=warning, verdict="note")


def _told(policy: Policy) -> Line:
    may = policy.tables_may_leave
    says = "is told to the coordinator, small cells left out" if may else "stays at the sites; the coordinator has none"
    return Line(topic="table", says=says, verdict="note", policy=f"tables_may_leave = {str(may).lower()}")


def _cohort(terms: CountingTerms, policy: Policy) -> Line:
    return Line.judged(
        "cohort",
        f"{len(terms.file.sites)} sites are asked, and a sum is made of {terms.study.fewest_in_a_sum} at least; this "
        "site opens none over fewer than its policy says",
        len(terms.file.sites) >= policy.min_cohort,
        f"min_cohort = {policy.min_cohort}",
    )


def _privacy(terms: CountingTerms, policy: Policy, rows: int, events: Sequence[Event]) -> Iterator[Line]:
    budget, noise = terms.budget, terms.multiplier
    if budget is None or noise is None:
        fits = policy.without_privacy
        says = "none: totals are exact, and may tell of a single patient"
        yield Line.judged("differential privacy", says, fits, f"without_privacy = {str(fits).lower()}")
        return
    deviation = terms.noise.deviation(noise)
    yield Line.judged(
        "epsilon of this study",
        f"at most {budget.epsilon:g} for every record of this site; each of its counts carries noise of deviation "
        f"{deviation:.3g}",
        budget.epsilon <= policy.max_epsilon_per_study,
        f"max_epsilon_per_study = {policy.max_epsilon_per_study:g}",
    )
    yield Line.judged(
        "delta of this study",
        weak_delta(budget.delta, [rows]) or f"{budget.delta:g}, against {rows:,} declared records",
        budget.delta <= policy.max_delta_per_study and budget.delta < 1 / rows,
        f"max_delta_per_study = {policy.max_delta_per_study:g}, and below 1 / records",
    )
    yield _lifetime(terms, policy, noise, events)


def _lifetime(terms: CountingTerms, policy: Policy, noise: float, events: Sequence[Event]) -> Line:
    name = terms.payer.wire_name
    others = [event for event in events if event.study != name]
    after = rdp_epsilon(
        spent([*others, count_event(terms.release, noise, name)], policy.least_honest), policy.max_delta_lifetime
    )
    return Line.judged(
        "epsilon over all studies",
        f"with this one at most {after:.3g} (delta {policy.max_delta_lifetime:g})",
        after <= policy.max_epsilon_lifetime,
        f"max_epsilon_lifetime = {policy.max_epsilon_lifetime:g}",
    )

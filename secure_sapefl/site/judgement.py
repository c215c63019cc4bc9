"""What follows from a study, a policy, a number of records and what was spent before: line by line, from no file."""

from collections.abc import Iterator, Sequence
from typing import Final

from secure_sapefl.privacy.adjacency import adjacency
from secure_sapefl.privacy.delta import weak_delta
from secure_sapefl.privacy.events import Event
from secure_sapefl.protocol.disclosure import keys_words
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.site.policy import Line, Policy, Verdict
from secure_sapefl.site.shared_review import shared_lines
from secure_sapefl.study.cost import cost_of, planned_replace_one
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.plain_words import Leaving, leaving, results_words
from secure_sapefl.study.terms import StudyTerms

_NEAR: Final = 2  # how far a declared number of records may be from the counted one


def judge(terms: StudyTerms, policy: Policy, rows: int, events: Sequence[Event]) -> tuple[Line, ...]:
    """Everything that follows from the study, the policy, the site's number of training rows (that it declares, where
    the study is private) and its ledger."""
    study = terms.file
    method = Line.judged(
        "method",
        f"{terms.blueprint.algorithm.title}, {study.rounds} rounds "
        f"with {study.cohort_size} of {len(study.sites)} sites each",
        study.method in policy.methods,
        f"methods = {', '.join(policy.methods) or 'none'}",
    )
    return (
        method,
        *(_leaves(part, policy) for part in leaving(terms)),
        Line(
            topic="joint keys" if study.keys == "joint" else "shared key",
            says=keys_words(study.keys, study.colluders),
            verdict="note",
        ),
        _test_results(terms, policy),
        *_cohort(terms, policy),
        *_peers(terms, policy),
        *_privacy(terms, policy, rows, events),
    )


def _leaves(part: Leaving, policy: Policy) -> Line:
    topic = f"leaves: {part.name}"
    says = f"{part.what}. The server {part.server}. The other sites {part.sites}. {part.privacy.capitalize()}."
    if part.field != "theta_personal":
        return Line(topic=topic, says=says, verdict="note")
    fits = policy.peers_may_receive_model
    return Line.judged(topic, says, fits, f"peers_may_receive_model = {_toml(fits)}")


def _test_results(terms: StudyTerms, policy: Policy) -> Line:
    stay, may = terms.file.metrics == "none", policy.metrics_may_leave
    says = results_words(terms.file)
    allowed = f'"{may}"' if isinstance(may, str) else _toml(may)
    return Line.judged("test results", says, stay or may is not False, f"metrics_may_leave = {allowed}")


def _cohort(terms: StudyTerms, policy: Policy) -> Iterator[Line]:
    """What the best possible round would look like: everybody invited answers, and all weigh the same."""
    if terms.blueprint.study.relay_only:
        return
    size, least = terms.file.cohort_size, terms.file.min_cohort
    yield Line.judged(
        "cohort",
        f"{size} sites are invited to a round, and it counts with {least}; this site uses no sum over fewer than its "
        "policy says",
        size >= policy.min_cohort,
        f"min_cohort = {policy.min_cohort}",
    )
    yield Line.judged(
        "mixing",
        f"at best {size} sites weigh the same in a sum",
        size >= policy.min_effective_cohort,
        f"min_effective_cohort = {policy.min_effective_cohort:g}",
    )
    known = (
        "; scores are hidden, so a sum is refused that might be more unequal"
        if terms.blueprint.study.scores == "hidden"
        else ""
    )
    yield Line.judged(
        "largest share",
        f"at best one site has {1 / size:.0%} of a sum{known}",
        1 / size <= policy.max_share,
        f"max_share = {policy.max_share:g}",
    )


def _peers(terms: StudyTerms, policy: Policy) -> Iterator[Line]:
    """How many resemblances the score adds up, where all that are drawn have sent a model."""
    if not terms.blueprint.algorithm.relays_models or terms.blueprint.study.relay_only:
        return
    others = terms.file.cohort_size - 1
    drawn = others if terms.file.peers_per_client is None else min(others, terms.file.peers_per_client)
    yield Line.judged(
        "peers",
        f"{drawn} are drawn for a site and round, by the study's seed; a score over fewer than the policy says is sent "
        "as 0",
        drawn >= policy.min_peers,
        f"min_peers = {policy.min_peers}",
    )


def _privacy(terms: StudyTerms, policy: Policy, rows: int, events: Sequence[Event]) -> Iterator[Line]:
    study = terms.file.privacy
    if study is None:
        says = "none: what leaves is encrypted or sealed, but not noised"
        fits = policy.without_privacy
        yield Line.judged("differential privacy", says, fits, f"without_privacy = {_toml(fits)}")
        return
    large_enough = terms.shared is not None or rows >= terms.file.batch_size
    if terms.shared is not None:
        yield from shared_lines(terms.shared.plan, policy, terms.file.keys)
    else:
        yield _epsilon(terms, policy, rows, study.epsilon, large_enough)
    yield Line(topic="neighbours", says=adjacency(terms.file.dp_unit), verdict="note")
    yield Line.judged(
        "delta of this study",
        weak_delta(study.delta, [rows]) or f"{study.delta:g}, against {rows:,} declared records to train on",
        study.delta <= policy.max_delta_per_study and study.delta < 1 / rows,
        f"max_delta_per_study = {policy.max_delta_per_study:g}, and below 1 / records",
    )
    yield Line.judged(
        "noise",
        "drawn from a secure generator"
        if study.noise == "secure"
        else "drawn from the study's seed: anybody who has this file can subtract it. For trials only",
        study.noise == "secure" or policy.repeatable_noise,
        f"repeatable_noise = {_toml(policy.repeatable_noise)}",
    )
    yield Line.judged(
        "records",
        f"{rows:,} to train on are declared{_in_batches(terms)}; everybody may know that number",
        large_enough,
        "a private study needs at least a batch of records",
    )
    if large_enough:
        yield _lifetime(terms, policy, rows, events)
    if terms.file.scaled_by == "site":
        says = "columns are scaled by this site's own means and deviations, which the privacy budget does not cover"
        yield Line(topic="preparation", says=says, verdict="note")


def _in_batches(terms: StudyTerms) -> str:
    return f", in batches of {terms.file.batch_size}" if terms.shared is None else ""


def _epsilon(terms: StudyTerms, policy: Policy, rows: int, epsilon: float, large_enough: bool) -> Line:
    replaced = f", and at most {planned_replace_one(terms, rows):.3g} for one replaced" if large_enough else ""
    return Line.judged(
        "epsilon of this study",
        f"at most {epsilon:g} for every record of this site, added or removed{replaced}; a round that would cost more "
        "is refused",
        epsilon <= policy.max_epsilon_per_study,
        f"max_epsilon_per_study = {policy.max_epsilon_per_study:g}",
    )


def judge_count(study: StudyFile, site: SiteId, counted: int) -> Line:
    """Whether what is declared is near the truth. Privacy holds either way; use does not."""
    declared = study.declared(site)
    near = counted / _NEAR <= declared <= counted * _NEAR
    says = f"{counted:,} to train on in this file, {declared:,} declared; this number is shown here and told to nobody"
    if not near:
        says += ". Ask the coordinator to declare a number near it: a larger one costs noise, a smaller one weight"
    verdict: Verdict = "ok" if near else "conflict" if site in study.records else "note"
    return Line(topic="records counted", says=says, verdict=verdict, policy=f"within a factor of {_NEAR}")


def _lifetime(terms: StudyTerms, policy: Policy, rows: int, events: Sequence[Event]) -> Line:
    privacy = terms.privacy()
    assert privacy is not None
    cost = cost_of(privacy, rows, events, policy.max_delta_lifetime, policy.least_honest)
    return Line.judged(
        "epsilon over all studies",
        f"{cost.spent_before:.3g} spent on {cost.studies_before} earlier studies; with this one at most "
        f"{cost.after:.3g} (delta {cost.lifetime_delta:g})",
        cost.after <= policy.max_epsilon_lifetime,
        f"max_epsilon_lifetime = {policy.max_epsilon_lifetime:g}",
    )


def _toml(value: bool) -> str:
    return "true" if value else "false"

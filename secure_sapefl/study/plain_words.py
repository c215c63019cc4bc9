"""What a study does with a site's records, in words for a person who decides about it, not for one who programs it.

Mirrors `protocol/messages.py`: there is one `Leaving` for every field of a message that leaves a site.
"""

from dataclasses import dataclass

from secure_sapefl.study.terms import StudyTerms

_SEALED_BYTES = 4  # a number of a sealed model, float32


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Something that leaves a site: what it is, how much, who can read it, and what pays for it in privacy."""

    field: str  # of the message
    name: str
    what: str
    size: int  # bytes a round the site takes part in
    server: str  # what the server can do with it
    sites: str  # what the other sites can
    noised: bool  # paid for from the study's privacy budget

    @property
    def privacy(self) -> str:
        return "noise added; paid from the privacy budget" if self.noised else "no noise added"


def leaving(terms: StudyTerms) -> tuple[Leaving, ...]:
    """Everything that leaves a site in a round it takes part in."""
    parts = [_traffic(terms)]
    if not terms.blueprint.study.relay_only:
        parts += [_update(terms), _score(terms)]
    if terms.blueprint.algorithm.relays_models:
        parts.append(_model(terms))
    return tuple(parts)


def _paid_for(terms: StudyTerms) -> set[str]:
    privacy = terms.privacy()
    if privacy is None:
        return set()
    releases = privacy.releases
    return {one.pays_for for one in releases.trainings} | {one.pays_for for one in releases.queries}


def _update(terms: StudyTerms) -> Leaving:
    count, params = terms.blueprint.study.parameters, terms.params
    return Leaving(
        field="update",
        name="update",
        what=f"what training changed in the common model: {count:,} numbers, encrypted "
        f"(CKKS, {params.security_bits} bits)",
        size=params.chunks(count) * params.fresh_chunk_bytes,
        server="adds it to the others' without being able to read it; it has no key",
        sites="read only the sum over the cohort, and check that it is that sum",
        noised="update" in _paid_for(terms),
    )


def _score(terms: StudyTerms) -> Leaving:
    similar, hidden = terms.blueprint.algorithm.relays_models, terms.blueprint.study.scores == "hidden"
    return Leaving(
        field="similarity_score",
        name="score",
        what="how alike this site and its peers are: one number"
        if similar
        else "how much the update counts, for instance the declared number of records: one number",
        size=8,
        server="cannot read it: it is encrypted with the update, which this site has weighed by it"
        if hidden
        else "reads it",
        sites="read the sum of all scores of a round, and that of their squares"
        if hidden
        else "read the whole-number weight made from it",
        noised="similarity_score" in _paid_for(terms),
    )


def _model(terms: StudyTerms) -> Leaving:
    count = terms.blueprint.model.parameters
    return Leaving(
        field="theta_personal",
        name="personal model",
        what=f"the model fitted to this site's records: {count:,} numbers, sealed (AES-256)",
        size=_SEALED_BYTES * count,
        server="passes it on without being able to open it",
        sites=_peers(terms),
        noised="theta_personal" in _paid_for(terms),
    )


def _peers(terms: StudyTerms) -> str:
    asked = terms.file.peers_per_client
    who = "all" if asked is None else f"up to {asked}, drawn anew each round,"
    return f"can read it, {who} of {', '.join(terms.file.sites)}"


def _traffic(terms: StudyTerms) -> Leaving:
    return Leaving(
        field="participation",
        name="participation",
        what=f"that this site takes part, in about {terms.file.participation:.0%} of {terms.file.rounds} rounds",
        size=0,
        server="sees it, with the size and time of every message",
        sites="see the names of those who took part",
        noised=False,
    )


STAYS = (
    "Records, labels and test results stay at the site.",
    "The decrypted common model stays with the sites: whoever publishes it without noise may betray the "
    "cohort key. `secure-sapefl release` adds that noise.",
)
COLLUSION = (
    "All sites share the cohort key. If the server and one site work together, or one site's key is stolen, every "
    "update and every personal model of every site can be read, those of past rounds included."
)


def not_protected(terms: StudyTerms) -> tuple[str, ...]:
    if terms.blueprint.study.scores == "hidden":
        return (
            COLLUSION,
            "The names of the sites and the rounds they took part in are known to the server.",
            "Nobody can hold a site to its score: one that lies about it counts for as much as it likes.",
        )
    known = "The names of the sites, the rounds they took part in and their scores are known to the server."
    return (COLLUSION, known)

"""Everything that travels between a site and the server, as frozen values.

Who can read what: the server reads names, rounds, scores and sizes. The fields of type ``bytes`` are opaque to it in an
encrypted study; only sites, who hold the cohort key, can read them.
"""

from dataclasses import dataclass

SiteId = str


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedModel:
    """A site's personal model on its way to peers; relayed by the server, read by key holders only."""

    sender: SiteId
    round_index: int
    blob: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """Server to site: take part in this round, with these peers.

    ``models`` are the peers' personal models. In the first round nobody has one yet: every peer still stands at the
    initial weights, which sites derive from the study's seed, and nothing needs to travel. Later, ``peers`` are those
    of the drawn ones whose models are here.
    """

    site: SiteId
    round_index: int
    peers: tuple[SiteId, ...]
    models: tuple[SealedModel, ...]

    @property
    def size(self) -> int:
        return sum(len(model.blob) for model in self.models)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundUpload:
    """Site to server, once a round. Contains no readable weights in an encrypted study."""

    site: SiteId
    round_index: int
    similarity_score: float  # 0 in a study that hides scores: it travels inside the update
    update: bytes | None  # Enc(Delta_c); None in a study that only relays
    theta_personal: SealedModel | None

    @property
    def size(self) -> int:
        return 8 + len(self.update or b"") + (len(self.theta_personal.blob) if self.theta_personal else 0)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Whose contribution was left out of a round, and why, in a sentence."""

    site: SiteId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOutcome:
    """Server to every site of the study: what came of a round.

    ``aggregate`` is an encrypted sum with the claim that says of what; None where nobody sent anything. ``weights`` are
    the integers the server weighed with, by site; a site whose score was 0 is not among them.
    """

    round_index: int
    aggregate: bytes | None
    weights: tuple[tuple[SiteId, int], ...]
    refusals: tuple[Refusal, ...]
    left_out: tuple[SiteId, ...] = ()  # as suspects of having spoilt an earlier sum (suspects.py)
    reports: tuple[bytes, ...] = ()  # the sites' signed words that it was spoilt

    @property
    def size(self) -> int:
        return len(self.aggregate or b"")

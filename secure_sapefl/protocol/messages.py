"""Everything that travels between a site and the server, as frozen values.

Who can read what: the server reads names, rounds, scores and sizes. The fields of type ``bytes`` are opaque to it in an
encrypted study; only sites, who hold keys, can read them.
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
class AnnouncedKey:
    """A committee member's sealing key of one attempt at a round, under its signature: to server, then to senders."""

    site: SiteId
    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedShare:
    """A share of a sender's key for one member of the round's committee, relayed by the server."""

    member: SiteId
    content: bytes  # empty for a member that is away


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """Server to site: take part in this round, with these peers.

    ``models`` are the peers' personal models. In the first round nobody has one yet: every peer still stands at the
    initial weights, which sites derive from the study's seed, and nothing needs to travel. Later, ``peers`` are those
    of the drawn ones whose models are here. ``keys`` are those of the round's committee, in a study with joint keys.
    """

    site: SiteId
    round_index: int
    peers: tuple[SiteId, ...]
    models: tuple[SealedModel, ...]
    keys: tuple[AnnouncedKey, ...] = ()
    attempt: int = 0  # at this round; keys are of one attempt

    @property
    def size(self) -> int:
        return sum(len(model.blob) for model in self.models) + sum(len(key.content) for key in self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundUpload:
    """Site to server, once a round. Contains no readable weights in an encrypted study."""

    site: SiteId
    round_index: int
    similarity_score: float  # 0 in a study that hides scores: it travels inside the update
    update: bytes | None  # Enc(Delta_c); None in a study that only relays
    theta_personal: SealedModel | None
    shares: tuple[SealedShare, ...] = ()  # of the key of the update, in a study with joint keys

    @property
    def size(self) -> int:
        model = len(self.theta_personal.blob) if self.theta_personal else 0
        return 8 + len(self.update or b"") + model + sum(len(share.content) for share in self.shares)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Whose contribution was left out of a round, and why, in a sentence."""

    site: SiteId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOutcome:
    """Server to every site of the study: what came of a round.

    ``aggregate`` is an encrypted sum with the claim that says of what, and with joint keys all it takes to open it
    (`sapefl_crypto.joint.openable`); None where nobody sent anything, or the sum stays closed. ``weights`` are the
    integers the server weighed with, by site; a site whose score was 0 is not among them.
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

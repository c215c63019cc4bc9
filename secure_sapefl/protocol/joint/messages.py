"""What server and committee say to each other in a round, as frozen values; a study's other messages are as ever.

    server              member
    KeyWanted      ->   AnnouncedKey        before anything is sent
    Delivery       ->   Receipt             what senders sealed for this member; what of it is no good
    Proposal       ->   Endorsement         the round's one claim; the member's signature, once a round
    Certified      ->   SealedAnswer        that enough have signed it; the member's share of the sum of keys
                        KeysGone            in place of any but the first, after a crash

All of it is of one attempt at one round. The server reads names, claims and signatures; shares and answers are sealed.
"""

from dataclasses import dataclass

from secure_sapefl.protocol.messages import AnnouncedKey, Refusal, SiteId


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWanted:
    """Asks for the member's sealing key of this attempt."""

    round_index: int
    attempt: int

    @property
    def size(self) -> int:
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One sender's signed manifest, and what it sealed for the member."""

    sender: SiteId
    manifest: bytes
    share: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    round_index: int
    attempt: int
    parcels: tuple[Parcel, ...]

    @property
    def size(self) -> int:
        return sum(len(parcel.manifest) + len(parcel.share) for parcel in self.parcels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    round_index: int
    attempt: int
    claim: bytes

    @property
    def size(self) -> int:
        return len(self.claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    round_index: int
    attempt: int
    claim: bytes
    certificate: bytes

    @property
    def size(self) -> int:
        return len(self.claim) + len(self.certificate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """That a delivery came, and whose parcel is no good."""

    site: SiteId
    complaints: tuple[Refusal, ...] = ()

    @property
    def size(self) -> int:
        return sum(len(one.reason) for one in self.complaints)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endorsement:
    """The member's signature under the claim, or why there is none."""

    site: SiteId
    signature: bytes = b""
    declined: str | None = None

    @property
    def size(self) -> int:
        return len(self.signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedAnswer:
    """The member's share of the sum of keys, sealed for all sites, or why there is none."""

    site: SiteId
    content: bytes = b""
    declined: str | None = None

    @property
    def size(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysGone:
    """That the member has no keys of this attempt any more: it was started anew since, and they were in its memory."""

    site: SiteId

    @property
    def size(self) -> int:
        return 0


Duty = KeyWanted | Delivery | Proposal | Certified
"""What the server asks of a member."""
Deed = AnnouncedKey | Receipt | Endorsement | SealedAnswer | KeysGone
"""What the member answers."""

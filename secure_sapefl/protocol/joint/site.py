"""A site's half of the legs: its keys of one attempt at one round, in memory until `erase`, and what it does with them.

Nothing here is written down but the digest of the claim that the site signs, which its ledger has before the signature
exists. An object of this class dies with its process; after a crash the site takes part in another attempt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sapefl_crypto.errors import AggregateRejected, CryptoError, FrameRejected
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.frames import Manifest, read_manifest, signed_part
from sapefl_crypto.joint.member import ClaimLedger, Member
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.policy import JointPolicy
from sapefl_crypto.joint.round_key import RoundKey, require_members
from sapefl_crypto.joint.sealing import Readers, SealingKey, announced
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.secret import Guarded
from secure_sapefl.protocol.codec import Vector
from secure_sapefl.protocol.joint.messages import (
    Certified,
    Deed,
    Delivery,
    Duty,
    Endorsement,
    KeyWanted,
    Parcel,
    Proposal,
    Receipt,
    SealedAnswer,
)
from secure_sapefl.protocol.messages import AnnouncedKey, Refusal, SealedShare, SiteId


@dataclass(frozen=True, slots=True, kw_only=True)
class JointHolder:
    """What a site has for a whole study: who it is, the root of the tags, where it keeps what it signed, its rules."""

    identity: SiteIdentity
    root: TagRoot = field(repr=False)
    ledger: ClaimLedger
    policy: JointPolicy = field(default_factory=lambda: JointPolicy(own_may_be_left_out=True))

    @property
    def name(self) -> SiteId:
        return self.identity.public.name


class SiteLegs(Guarded):
    """``readers`` are the sites for whom this one seals its answer."""

    __slots__ = ("_about", "_holder", "_member", "_own", "_readers", "_sealing")

    def __init__(self, about: JointRound, holder: JointHolder, readers: Readers) -> None:
        self._about, self._holder, self._readers = about, holder, readers
        self._sealing = SealingKey()
        self._member: Member | None = None
        self._own: Manifest | None = None

    @property
    def about(self) -> JointRound:
        return self._about

    def check(self, keys: tuple[AnnouncedKey, ...]) -> None:
        """`CryptoError` unless these are members' own keys, and those of enough members."""
        require_members(self._about, self._members(keys))

    def encrypt(
        self, update: Vector, score: float, keys: tuple[AnnouncedKey, ...]
    ) -> tuple[bytes, tuple[SealedShare, ...]]:
        """The update under a key of its own, and that key's shares for the members who announced ``keys``."""
        key = RoundKey(self._about, sender=self._holder.name, members=self._members(keys))
        sent = key.encrypt(
            update, score=score, root=self._holder.root, identity=self._holder.identity, sealing=self._sealing.public
        )
        self._own = read_manifest(signed_part(sent.frame), self._about)
        return sent.frame, tuple(SealedShare(member=name, content=share) for name, share in sent.shares.items())

    def _members(self, keys: tuple[AnnouncedKey, ...]) -> Mapping[SiteId, bytes]:
        """Announced keys under their members' signatures; a server that puts in one of its own is found out here."""
        strangers = [key.site for key in keys if key.site not in self._about.committee.members]
        if strangers:
            raise FrameRejected(f"{self._about}: a key of {strangers[0]!r}, which is not on the committee.")
        moment = self._about.moment
        return {key.site: announced(self._about.roster[key.site], key.content, moment) for key in keys}

    def perform(self, duty: Duty) -> Deed:
        """What this site says to the server as a member of the committee."""
        match duty:
            case KeyWanted():
                return self.announce()
            case Delivery():
                return self._receive(duty)
            case Proposal():
                return self._endorse(duty)
            case Certified():
                return self._answer(duty)

    def announce(self) -> AnnouncedKey:
        content = self._sealing.announcement(self._holder.identity, self._about.moment)
        return AnnouncedKey(site=self._holder.name, content=content)

    def _receive(self, delivery: Delivery) -> Receipt:
        complaints = [self._complaint(parcel) for parcel in delivery.parcels]
        return Receipt(site=self._holder.name, complaints=tuple(one for one in complaints if one is not None))

    def _complaint(self, parcel: Parcel) -> Refusal | None:
        try:
            self._as_member().receive(parcel.manifest, parcel.share)
        except CryptoError as error:
            return Refusal(parcel.sender, str(error))
        return None

    def _endorse(self, proposal: Proposal) -> Endorsement:
        try:
            signature = self._as_member().endorse(JointClaim.from_bytes(proposal.claim))
        except AggregateRejected as error:
            return Endorsement(site=self._holder.name, declined=str(error))
        return Endorsement(site=self._holder.name, signature=signature)

    def _answer(self, certified: Certified) -> SealedAnswer:
        try:
            claim, certificate = JointClaim.from_bytes(certified.claim), Certificate.from_bytes(certified.certificate)
            content = self._as_member().answer(claim, certificate, self._readers)
        except AggregateRejected as error:
            return SealedAnswer(site=self._holder.name, declined=str(error))
        return SealedAnswer(site=self._holder.name, content=content)

    def _as_member(self) -> Member:
        """Made when shares come: by then this site has sent its own frame, if it sends one."""
        if self._member is None:
            self._member = Member(
                self._about,
                identity=self._holder.identity,
                sealing=self._sealing,
                ledger=self._holder.ledger,
                policy=replace(self._holder.policy, own=self._own),
            )
        return self._member

    def erase(self) -> None:
        """The round is over, or another attempt has begun."""
        self._sealing.erase()
        if self._member is not None:
            self._member.erase()
        self._member = None

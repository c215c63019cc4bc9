"""The server's half of the committee's legs in one attempt at a round: whom to ask what, and what came of it.

It holds no key. Shares and answers pass through it sealed; it checks the signatures under everything it relays, so that
whoever is at fault is known by name before others are troubled.
"""

from collections.abc import MutableMapping, Sequence
from typing import Final, Literal

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.answers import verified_header
from sapefl_crypto.joint.certificate import Certificate, verify_endorsement
from sapefl_crypto.joint.frames import digest, read_manifest, signed_part
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.openable import OpenableSum
from sapefl_crypto.joint.sealing import announced
from secure_sapefl.protocol.joint.complaints import able, senders_to_leave_out
from secure_sapefl.protocol.joint.messages import (
    Certified,
    Deed,
    Delivery,
    Duty,
    Endorsement,
    KeysGone,
    KeyWanted,
    Parcel,
    Proposal,
    Receipt,
    SealedAnswer,
)
from secure_sapefl.protocol.messages import AnnouncedKey, RoundUpload, SiteId

Stage = Literal["keys", "uploads", "deliveries", "claim", "answers"]
ShareStore = MutableMapping[tuple[SiteId, SiteId], bytes]
"""Sealed shares by sender and member."""
_WHAT: Final[dict[Stage, str]] = {
    "keys": "announced a key",
    "uploads": "",
    "deliveries": "could use the shares they were sent",
    "claim": "signed the claim",
    "answers": "answered",
}


class CommitteeLegs:
    """Stage after stage; `duty_for` says what a member is asked in the present one, `hear` takes in its answer."""

    def __init__(self, about: JointRound, shares: ShareStore) -> None:
        self.about, self._shares = about, shares
        self.stage: Stage = "keys"
        self.keys: dict[SiteId, AnnouncedKey] = {}
        self._manifests: dict[SiteId, bytes] = {}
        self._senders: tuple[SiteId, ...] = ()
        self._complaints: dict[SiteId, frozenset[SiteId]] = {}
        self._aggregate: JointAggregate | None = None
        self._signatures: dict[SiteId, bytes] = {}
        self._answers: dict[SiteId, bytes] = {}
        self.declined: dict[SiteId, str] = {}
        self.gone: set[SiteId] = set()  # members whose keys of this attempt were lost

    # what a stage needs

    @property
    def asked(self) -> tuple[SiteId, ...]:
        """Members that have a part in this stage."""
        match self.stage:
            case "keys":
                return self.about.committee.members
            case "uploads":
                return ()
            case "deliveries":
                return tuple(self.keys)
            case "claim" | "answers":
                return self.able

    @property
    def able(self) -> tuple[SiteId, ...]:
        """Members that hold a share of every sender in the sum."""
        return able(self._complaints, self.to_leave_out)

    @property
    def to_leave_out(self) -> frozenset[SiteId]:
        """Senders whose shares too many members cannot use."""
        return senders_to_leave_out(self._complaints, self.about.committee.needed)

    @property
    def waiting(self) -> tuple[SiteId, ...]:
        """Members from whom this stage may still hear."""
        done = {*self._done(), *self.gone, *(self.declined if self.stage in ("claim", "answers") else ())}
        return tuple(member for member in self.asked if member not in done)

    @property
    def needed(self) -> int:
        committee = self.about.committee
        counts = {"claim": committee.quorum, "answers": committee.threshold, "uploads": 0}
        return counts.get(self.stage, committee.needed)

    @property
    def enough(self) -> bool:
        """Whether the next stage can begin."""
        return len(self.able if self.stage == "deliveries" else self._done()) >= self.needed

    @property
    def plenty(self) -> bool:
        """Whether more would not help: of the answers, as many as find and name every colluder's."""
        committee = self.about.committee
        if self.stage == "claim":
            return len(self._signatures) >= committee.quorum
        return self.stage == "answers" and len(self._answers) >= committee.threshold + 2 * committee.tolerated

    @property
    def worth_another_attempt(self) -> bool:
        """Whether there would be enough members if those who lost their keys made new ones. Nobody has signed yet."""
        return self.stage == "deliveries" and len(self.able) < self.needed <= len(self.able) + len(self.gone)

    def shortfall(self) -> str:
        """Why a sum stays closed."""
        done = self.able if self.stage == "deliveries" else tuple(self._done())
        size, missing = len(self.about.committee.members), sorted({*self.about.committee.members} - {*done})
        return (
            f"{len(done)} of {size} members of the committee {_WHAT[self.stage]}, {self.needed} are needed "
            f"(missing: {', '.join(missing)}); the sum stays closed."
        )

    def _done(self) -> Sequence[SiteId]:
        heard: dict[Stage, Sequence[SiteId]] = {
            "keys": tuple(self.keys),
            "uploads": (),
            "deliveries": tuple(self._complaints),
            "claim": tuple(self._signatures),
            "answers": tuple(self._answers),
        }
        return heard[self.stage]

    # what members are asked, and what they say

    def duty_for(self, member: SiteId) -> Duty | None:
        if member not in self.waiting:
            return None
        index, attempt = self.about.round_index, self.about.attempt
        match self.stage:
            case "keys":
                return KeyWanted(round_index=index, attempt=attempt)
            case "deliveries":
                return Delivery(round_index=index, attempt=attempt, parcels=self._parcels(member))
            case "claim":
                return Proposal(round_index=index, attempt=attempt, claim=self._claim())
            case "answers":
                certificate = self.certificate.to_bytes()
                return Certified(round_index=index, attempt=attempt, claim=self._claim(), certificate=certificate)
        return None

    def hear(self, deed: Deed) -> None:
        """Take in what a member says, if it is of this stage and holds; `FrameRejected` if it does not."""
        if deed.site not in self.about.committee.members:
            raise FrameRejected(f"Site {deed.site!r}, {self.about}: not on this round's committee.")
        match deed:
            case AnnouncedKey() if self.stage == "keys":
                announced(self.about.roster[deed.site], deed.content, self.about.moment)
                self.keys[deed.site] = deed
            case Receipt() if self.stage == "deliveries":
                known = {one.site for one in deed.complaints} & {*self._senders}
                self._complaints.setdefault(deed.site, frozenset(known))
            case Endorsement() if self.stage == "claim":
                self._hear_endorsement(deed)
            case SealedAnswer() if self.stage == "answers":
                self._hear_answer(deed)
            case KeysGone() if self.stage not in ("keys", "uploads"):
                self.gone.add(deed.site)

    def _hear_endorsement(self, deed: Endorsement) -> None:
        assert self._aggregate is not None  # there is a claim in this stage
        if deed.declined is not None:
            self.declined[deed.site] = deed.declined
            return
        verify_endorsement(self.about, self._aggregate.claimed, deed.site, deed.signature)
        self._signatures[deed.site] = deed.signature

    def _hear_answer(self, deed: SealedAnswer) -> None:
        assert self._aggregate is not None
        if deed.declined is not None:
            self.declined[deed.site] = deed.declined
            return
        _, member = verified_header(deed.content, self.about, self._aggregate.claimed)
        if member != deed.site:
            raise FrameRejected(f"Site {deed.site!r}, {self.about}: this is the answer of {member!r}.")
        self._answers[member] = deed.content

    # uploads

    def take(self, upload: RoundUpload) -> None:
        """Keep a sender's shares for the members, if they are those it signed; else `FrameRejected`."""
        signed = signed_part(upload.update or b"")
        manifest = read_manifest(signed, self.about)
        who = f"Sender {upload.site!r}, {self.about}"
        if manifest.sender != upload.site or manifest.score != upload.similarity_score:
            raise FrameRejected(f"{who}: its frame is of {manifest.sender!r}, or of another score.")
        if tuple(share.member for share in upload.shares) != self.about.committee.members:
            raise FrameRejected(f"{who}: its shares are not for this round's committee.")
        if tuple(digest(share.content) for share in upload.shares) != manifest.share_digests:
            raise FrameRejected(f"{who}: its shares are not those it signed.")
        for share in upload.shares:
            self._shares[upload.site, share.member] = share.content
        self._manifests[upload.site] = signed

    def _parcels(self, member: SiteId) -> tuple[Parcel, ...]:
        return tuple(
            Parcel(sender=sender, manifest=self._manifests[sender], share=self._shares[sender, member])
            for sender in self._senders
        )

    # from stage to stage

    def open_uploads(self) -> None:
        self.stage = "uploads"

    def deliver(self, senders: Sequence[SiteId]) -> None:
        """What these sealed goes to the members."""
        self._senders, self.stage = tuple(senders), "deliveries"

    def propose(self, aggregate: JointAggregate) -> None:
        """The one claim of the round. From now on there is no other, and no other attempt."""
        self._aggregate, self.stage = aggregate, "claim"

    def restore(self, aggregate: JointAggregate, able: Sequence[SiteId]) -> None:
        """Stand at the claim again, as the server did before it was started anew; ``able`` members hold the shares."""
        self._complaints = dict.fromkeys(able, frozenset[SiteId]())
        self.propose(aggregate)

    def certify(self) -> None:
        self.declined, self.stage = {}, "answers"

    @property
    def certificate(self) -> Certificate:
        assert self._aggregate is not None
        return Certificate(digest=self._aggregate.claimed.digest, signatures=self._signatures)

    def openable(self) -> OpenableSum:
        assert self._aggregate is not None
        most = self.about.committee.threshold + 2 * self.about.committee.tolerated
        answers = tuple(self._answers.values())[:most]
        return OpenableSum(aggregate=self._aggregate, certificate=self.certificate, answers=answers)

    def _claim(self) -> bytes:
        assert self._aggregate is not None
        return self._aggregate.claimed.to_bytes()

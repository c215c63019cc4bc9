"""The server together with sites that keep what they are sent as members of committees: who can read what, tried.

A member gets one share of every sender's key. As many as open a sum open a single update as well, once they work
together; fewer have numbers that are as good as random. A coalition tries with whatever it has: that it fails is found,
not assumed.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from sapefl_crypto.errors import CryptoError
from sapefl_crypto.joint.field import RING_DEGREE, times
from sapefl_crypto.joint.opening import mean_under
from sapefl_crypto.joint.plan import JointPlan
from sapefl_crypto.joint.recombining import SumKey
from sapefl_crypto.joint.round_key import SHARED_NUMBERS, share_context
from sapefl_crypto.joint.shamir import read_share, value_at
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.seal import Coefficients
from secure_sapefl.audit.parties import AtServer
from secure_sapefl.audit.recording import PublicTerms
from secure_sapefl.engine.assembly import Assembly
from secure_sapefl.engine.joint_sites import JointSites
from secure_sapefl.engine.protection import Joint, Protection
from secure_sapefl.protocol.codec import Vector
from secure_sapefl.protocol.joint.adder import JointAdder
from secure_sapefl.protocol.joint.messages import Parcel
from secure_sapefl.protocol.joint.site import SiteLegs
from secure_sapefl.protocol.messages import Refusal, RoundUpload, SiteId
from secure_sapefl.protocol.study import Study

Found = dict[tuple[int, SiteId], dict[SiteId, Coefficients]]
"""By round and sender: the shares of its key that members kept, by member."""


class LeakyLegs(SiteLegs):
    """A member whose software was changed: it does its duty, and keeps every share."""

    __slots__ = ("found",)
    found: Found

    def _complaint(self, parcel: Parcel) -> Refusal | None:
        about, me = self._about, self._holder.name
        plain = self._sealing.unseal(parcel.share, context=share_context(about, parcel.sender, me))
        committee = about.committee
        share = read_share(plain, committee.point(me), threshold=committee.threshold, count=SHARED_NUMBERS)
        assert share is not None, "honest senders"
        self.found.setdefault((about.round_index, parcel.sender), {})[me] = share[:RING_DEGREE].copy()
        return super()._complaint(parcel)  # of this class


class LeakySites(JointSites):
    """All sites' members keep their shares; a coalition is given those of its own."""

    def __init__(self, study: Study, plan: JointPlan) -> None:
        super().__init__(study, plan)
        self.found: Found = {}

    def begin(self, round_index: int) -> None:
        """A round is attacked when it closes; what was kept of it is of no use in the next."""
        self.found.clear()
        super().begin(round_index)

    def _new_legs(self, site: SiteId, round_index: int) -> SiteLegs:
        legs = LeakyLegs(self.terms.about(round_index), self.holders[site], self.terms.readers)
        legs.found = self.found
        return legs

    @property
    def root(self) -> TagRoot:
        return next(iter(self.holders.values())).root


def leaky(assembly: Assembly) -> Protection:
    """The study's protection; if it is by joint keys, with members that leak."""
    protection = assembly.protection()
    if not isinstance(protection, Joint):
        return protection
    return Joint(protection.params, LeakySites(assembly.blueprint.study, protection.params))


@dataclass(frozen=True, slots=True)
class Spoils:
    """What ``members`` bring into a coalition with the server."""

    sites: LeakySites
    members: Collection[SiteId] = field(default_factory=tuple)

    def update(self, upload: RoundUpload) -> Vector | None:
        """The update in a frame, under the key that the members' shares amount to; None where that is not its key."""
        kept = self.sites.found.get((upload.round_index, upload.site), {})
        about = self.sites.terms.about(upload.round_index)
        shares = {about.committee.point(name): share for name, share in kept.items() if name in self.members}
        if not shares or upload.update is None:
            return None
        alone = JointAdder(about, {})
        try:
            alone.add(upload.update, upload.similarity_score)
            total = alone.finish()
            if not total.weights:
                return None
            key = SumKey(numbers=times(value_at(shares, 0), total.weights[upload.site]))
            return mean_under(about, total, key, self.sites.root)
        except CryptoError:
            return None


class Coalition(AtServer):
    """The server with ``spoils``, and with the codec of its first member."""

    def __init__(self, name: str, terms: PublicTerms, spoils: Spoils) -> None:
        first, *_ = spoils.members
        super().__init__(name, terms, spoils.sites.codec(spoils.members), first)
        self._spoils = spoils

    def _alone(self, frame: bytes, upload: RoundUpload) -> Vector | None:  # noqa: ARG002 - it is the upload's
        return self._spoils.update(upload)

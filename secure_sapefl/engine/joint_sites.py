"""The sites of a simulated study with joint keys: each with an identity of its own, and with keys that last a round."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sapefl_crypto.binding import bind
from sapefl_crypto.joint.member import MemoryLedger
from sapefl_crypto.joint.plan import JointPlan
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.identity import SiteIdentity
from secure_sapefl.protocol.answer import Answer, sealed_model
from secure_sapefl.protocol.joint.answer import protect_jointly
from secure_sapefl.protocol.joint.codec import JointCodec
from secure_sapefl.protocol.joint.messages import Deed, Duty
from secure_sapefl.protocol.joint.site import JointHolder, SiteLegs
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.messages import AnnouncedKey, Invitation, RoundUpload, SiteId
from secure_sapefl.protocol.study import Study


class JointSites:
    """They are made anew for every run and every resume; nothing of them is ever written down."""

    def __init__(self, study: Study, plan: JointPlan) -> None:
        identities = [SiteIdentity.simulated(name) for name in (*study.sites, *study.late)]
        root = TagRoot.generate()
        self.terms = JointTerms(
            study=study,
            plan=plan,
            roster={one.public.name: one.public for one in identities},
            nonces={name: _nonce(study.seed, name) for name in study.sites},
        )
        self.holders = {
            one.public.name: JointHolder(identity=one, root=root, ledger=MemoryLedger()) for one in identities
        }
        self._legs: Mapping[SiteId, SiteLegs] = {}
        self._keys: dict[SiteId, tuple[AnnouncedKey, ...]] = {}

    def codec(self, sites: Iterable[SiteId] | None = None) -> JointCodec:
        """What these sites can open together; all of them, unless only some are asked."""
        names = tuple(self.holders) if sites is None else tuple(sites)
        return JointCodec(self.terms, {name: self.holders[name] for name in names})

    def begin(self, round_index: int) -> None:
        """New keys for everybody."""
        self.erase()
        self._legs = {name: self._new_legs(name, round_index) for name in self.terms.study.sites}

    def _new_legs(self, site: SiteId, round_index: int) -> SiteLegs:
        return SiteLegs(self.terms.about(round_index), self.holders[site], self.terms.readers)

    def erase(self) -> None:
        """The round is over: its keys are gone, and so is every way to read one update of it."""
        for legs in self._legs.values():
            legs.erase()
        self._legs, self._keys = {}, {}

    def hear(self, invitation: Invitation) -> None:
        self._keys[invitation.site] = invitation.keys

    def perform(self, site: SiteId, duty: Duty) -> Deed:
        return self._legs[site].perform(duty)

    def protect(self, answer: Answer, study: Study, round_index: int) -> RoundUpload:
        codec = self.codec()
        if answer.update is None:
            model = sealed_model(answer, codec, study, round_index)
            return RoundUpload(
                site=answer.site, round_index=round_index, similarity_score=0.0, update=None, theta_personal=model
            )
        if answer.site in study.late:
            return self._protect_late(answer, study, round_index)
        return protect_jointly(answer, self._legs[answer.site], self._keys[answer.site], codec, study, round_index)

    def _protect_late(self, answer: Answer, study: Study, round_index: int) -> RoundUpload:
        """As if there were another round and a committee for it: of this, only the size is looked at. A late site may
        have more peers, and so a higher score, than any round allows."""
        answer = replace(answer, similarity_score=min(answer.similarity_score, study.max_score))
        members = self.terms.committee(round_index).members
        legs = [self._new_legs(name, round_index) for name in (*members, answer.site)]
        keys = tuple(member.announce() for member in legs[:-1])
        try:
            return protect_jointly(answer, legs[-1], keys, self.codec(), study, round_index)
        finally:
            for one in legs:
                one.erase()


def _nonce(seed: int, site: SiteId) -> bytes:
    """What a deployed site draws at random for its consent; here it follows from the seed, like every other draw."""
    return hashlib.sha256(bind("sapefl simulated consent", seed, site)).digest()

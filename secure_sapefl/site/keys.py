"""What a site protects and opens with, by the keys of its study: one that all sites share, or joint ones."""

from dataclasses import dataclass, replace
from typing import Protocol

from sapefl_crypto import CohortKey, OwnPart
from sapefl_crypto.errors import CryptoError, FrameRejected
from sapefl_crypto.joint.frames import Manifest, attempt_of, read_manifest, signed_part
from sapefl_crypto.joint.policy import JointPolicy
from secure_sapefl.protocol.answer import Answer, protect, sealed_model
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.joint.answer import protect_jointly
from secure_sapefl.protocol.joint.codec import JointCodec
from secure_sapefl.protocol.joint.consents import Call, Said
from secure_sapefl.protocol.joint.messages import Deed, Duty
from secure_sapefl.protocol.joint.site import JointHolder
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.messages import Invitation, RoundUpload
from secure_sapefl.protocol.study import Study
from secure_sapefl.site.joint.answer import AnswerFile
from secure_sapefl.site.joint.consents import SiteNonces
from secure_sapefl.site.joint.seat import Seat
from secure_sapefl.site.policy import Policy


class SiteKeys(Protocol):
    def models(self) -> SiteCodec:
        """For models that peers sealed."""

    def sums(self, policy: Policy, sent: RoundUpload | None) -> SiteCodec:
        """For sums, on the owner's conditions; ``sent`` is what this site sent in that round."""

    def protect(self, answer: Answer, invitation: Invitation) -> RoundUpload:
        """What leaves in answer to an invitation."""

    def objection(self, invitation: Invitation) -> str | None:
        """What is wrong with the keys that an invitation brings, before anything is trained or paid for."""

    def again(self, stored: RoundUpload, invitation: Invitation) -> RoundUpload | None:
        """What leaves when the server asks again: the same bytes, or the same update for another attempt."""

    def perform(self, duty: Duty) -> Deed:
        """What this site says as a member of a committee; `FrameRejected` where it is none."""

    def answer(self, call: Call) -> Said:
        """What this site says of its nonce, before the first round; `FrameRejected` where none is asked for."""

    def close(self, round_index: int) -> None:
        """A round is over here."""


@dataclass(frozen=True, slots=True)
class SharedKey:
    """The cohort key."""

    key: CohortKey
    study: Study

    def models(self) -> SiteCodec:
        return CkksCodec(self.key)

    def sums(self, policy: Policy, sent: RoundUpload | None) -> SiteCodec:
        return CkksCodec(self.key, policy.claims(self._own_part(sent), self.study.least_contributors))

    def equal_sums(self, policy: Policy, sent: bytes | None = None) -> CkksCodec:
        """For frames of a sum in which everybody weighs the same, and that sum; ``sent`` is this site's frame."""
        own = None if sent is None else OwnPart(frame=sent, score=1.0, max_score=1.0, may_be_left_out=True)
        return CkksCodec(self.key, policy.claims(own))

    def _own_part(self, sent: RoundUpload | None) -> OwnPart | None:
        if sent is None or sent.update is None:
            return None
        return OwnPart(
            frame=sent.update,
            score=sent.similarity_score,
            max_score=self.study.max_score,
            may_be_left_out=True,  # it may have come after the round's deadline
        )

    def protect(self, answer: Answer, invitation: Invitation) -> RoundUpload:
        return protect(answer, CkksCodec(self.key), self.study, invitation.round_index)

    def objection(self, invitation: Invitation) -> str | None:  # noqa: ARG002 - it brings none
        return None

    def again(self, stored: RoundUpload, invitation: Invitation) -> RoundUpload | None:  # noqa: ARG002 - no attempts
        return stored

    def perform(self, duty: Duty) -> Deed:
        raise FrameRejected(f"Round {duty.round_index}: a duty of a committee, in a study that has none.")

    def answer(self, call: Call) -> Said:  # noqa: ARG002 - whatever it is
        raise FrameRejected("A call for a nonce, in a study that draws no committees.")

    def close(self, round_index: int) -> None:
        """The key is the study's."""


class JointKeys:
    """The site's identity and the root of tags; keys of a round in its `Seat`. ``nonces`` are those that ``terms`` draw
    committees from, where not all sites sit on them."""

    def __init__(
        self, terms: JointTerms, holder: JointHolder, answers: AnswerFile, nonces: SiteNonces | None = None
    ) -> None:
        self._terms, self._holder, self._answers, self._nonces = terms, holder, answers, nonces
        self._seat = Seat(terms, holder)

    def models(self) -> SiteCodec:
        return JointCodec(self._terms, {self._holder.name: self._holder})

    def sums(self, policy: Policy, sent: RoundUpload | None) -> SiteCodec:
        rules = replace(joint_policy(policy, self._terms.study), own=self._own_manifest(sent))
        return JointCodec(self._terms, {self._holder.name: self._holder}, rules)

    def _own_manifest(self, sent: RoundUpload | None) -> Manifest | None:
        if sent is None or sent.update is None:
            return None
        about = self._terms.about(sent.round_index, attempt_of(sent.update))
        return read_manifest(signed_part(sent.update), about)

    def protect(self, answer: Answer, invitation: Invitation) -> RoundUpload:
        if answer.update is None:  # a study that only relays has no committee
            model = sealed_model(answer, self.models(), self._terms.study, invitation.round_index)
            return RoundUpload(
                site=answer.site,
                round_index=invitation.round_index,
                similarity_score=0.0,
                update=None,
                theta_personal=model,
            )
        self._answers.keep(invitation.round_index, answer)
        return self._encrypted(answer, invitation)

    def _encrypted(self, answer: Answer, invitation: Invitation) -> RoundUpload:
        legs = self._seat.legs(invitation.round_index, invitation.attempt)
        return protect_jointly(answer, legs, invitation.keys, self.models(), self._terms.study, invitation.round_index)

    def objection(self, invitation: Invitation) -> str | None:
        try:
            self._require_nonces()
            if not self._terms.study.relay_only:
                self._seat.legs(invitation.round_index, invitation.attempt).check(invitation.keys)
        except CryptoError as error:
            return str(error)
        return None

    def _require_nonces(self) -> None:
        if self._nonces is not None and not self._nonces.known:
            raise FrameRejected("The committees of this study are not drawn yet: nonces of its sites are missing.")

    def again(self, stored: RoundUpload, invitation: Invitation) -> RoundUpload | None:
        """None where the update is not here any more, or a later attempt has begun."""
        if stored.update is None or attempt_of(stored.update) == invitation.attempt:
            return stored
        answer = self._answers.read(invitation.round_index)
        if answer is None or attempt_of(stored.update) > invitation.attempt:
            return None
        return self._encrypted(answer, invitation)

    def perform(self, duty: Duty) -> Deed:
        self._require_nonces()
        return self._seat.perform(duty)

    def answer(self, call: Call) -> Said:
        if self._nonces is None:
            raise FrameRejected("A call for a nonce, in a study whose sites all sit on every committee.")
        return self._nonces.answer(call)

    def close(self, round_index: int) -> None:
        self._seat.close(round_index)
        self._answers.forget()


def joint_policy(policy: Policy, study: Study) -> JointPolicy:
    """What the owner asks of a claim before the site signs it, and of a sum before it opens it."""
    return JointPolicy(rules=policy.claims(None, study.least_contributors), own_may_be_left_out=True)

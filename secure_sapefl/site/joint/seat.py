"""A site's seat on the committees of a study: its keys of one attempt at one round, and what it says as a member.

The keys are in memory alone. A later attempt or round ends them, and so does the end of the process: then the site says
that they are gone, and the server begins another attempt where it needs to.
"""

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.joint.messages import Deed, Duty, KeysGone, KeyWanted
from secure_sapefl.protocol.joint.site import JointHolder, SiteLegs
from secure_sapefl.protocol.joint.terms import JointTerms


class Seat:
    def __init__(self, terms: JointTerms, holder: JointHolder) -> None:
        self._terms, self._holder = terms, holder
        self._legs: SiteLegs | None = None
        self._announced = False

    def perform(self, duty: Duty) -> Deed:
        """`FrameRejected` for a duty of a committee on which this site does not sit, or of an attempt that is over."""
        index, attempt = duty.round_index, duty.attempt
        if self._holder.name not in self._terms.committee(index).members:
            raise FrameRejected(f"Round {index}: {self._holder.name!r} is not drawn for its committee.")
        legs = self.legs(index, attempt)
        if isinstance(duty, KeyWanted):
            self._announced = True
        elif not self._announced:
            return KeysGone(site=self._holder.name)
        return legs.perform(duty)

    def legs(self, round_index: int, attempt: int) -> SiteLegs:
        """The keys of this attempt; those of an earlier one are erased, and never come back."""
        wanted = (round_index, attempt)
        if self._legs is not None and wanted < self._moment(self._legs):
            raise FrameRejected(f"Round {round_index}, attempt {attempt}: a later one has begun; perhaps a replay.")
        if self._legs is None or wanted > self._moment(self._legs):
            self.erase()
            self._legs = SiteLegs(self._terms.about(round_index, attempt), self._holder, self._terms.readers)
        return self._legs

    @staticmethod
    def _moment(legs: SiteLegs) -> tuple[int, int]:
        return legs.about.round_index, legs.about.attempt

    def close(self, round_index: int) -> None:
        """A round is over: nothing of it, or of an earlier one, can be opened here any more."""
        if self._legs is not None and self._legs.about.round_index <= round_index:
            self.erase()

    def erase(self) -> None:
        if self._legs is not None:
            self._legs.erase()
        self._legs, self._announced = None, False

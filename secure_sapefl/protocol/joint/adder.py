"""What the server of a study with joint keys adds with. Frames wait until it is known whose shares are good."""

from collections.abc import MutableMapping

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.aggregator import JointAggregator
from sapefl_crypto.joint.frames import parse_frame
from sapefl_crypto.joint.occasion import JointRound
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.messages import SiteId

FrameStore = MutableMapping[SiteId, bytes]


class JointAdder:
    """An `Adder` whose sites can be taken out again. ``frames`` is where they wait: in memory, or on disk."""

    def __init__(self, about: JointRound, frames: FrameStore) -> None:
        self._about, self._frames = about, frames
        self._weights: dict[SiteId, int] = {}

    @property
    def weights(self) -> dict[SiteId, int]:
        return {site: weight for site, weight in self._weights.items() if weight}

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None:
        """By the weight that the site has signed; ``score`` must be the one it is made from."""
        manifest = parse_frame(frame, self._about).manifest
        who = f"Sender {manifest.sender!r}, {self._about}"
        if sender not in (None, manifest.sender):
            raise FrameRejected(f"{who}: it came over the connection of {sender!r}; leave it out.")
        if manifest.score != score:
            raise FrameRejected(f"{who}: a score of {score} beside a frame of score {manifest.score}; leave it out.")
        if manifest.sender in self._weights:
            raise FrameRejected(f"{who}: already counted; a sender counts once a round.")
        self._frames[manifest.sender] = frame
        self._weights[manifest.sender] = manifest.weight

    def take_out(self, site: SiteId) -> None:
        self._weights.pop(site, None)

    def finish(self) -> JointAggregate:
        total = JointAggregator(self._about)
        for site in self.weights:
            total.add(self._frames[site], sender=site)
        return total.finish()


def joint_adder(terms: JointTerms, round_index: int) -> JointAdder:
    """For a study that only relays, whose frames carry nothing to add."""
    return JointAdder(terms.about(round_index), {})

"""What the server knows of nodes, sites and rounds while a study runs, and how it tells people."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from secure_sapefl.protocol.messages import Refusal, SiteId

UNHEARD: Final = "not heard of yet"
SILENT: Final = "silent"
HERE: Final = "here"


@dataclass(slots=True)
class Node:
    """An address of the transport. ``nonce`` is that of the message on its way, ``end_announced`` whether that one says
    that the study is over; ``rest_until`` spares a silent node."""

    site: SiteId | None = None
    nonce: str | None = None
    end_announced: bool = False
    rest_until: float = 0.0
    failures: int = 0


@dataclass(slots=True)
class OpenRound:
    index: int
    cohort: tuple[SiteId, ...]
    opened: float
    deadline: float
    left_out: tuple[SiteId, ...]  # suspects
    too_light: tuple[SiteId, ...] = ()
    answered: set[SiteId] = field(default_factory=set)
    warned: bool = False
    leg_began: float = 0.0  # of the committee, where there is one

    @property
    def waiting(self) -> list[SiteId]:
        return [site for site in self.cohort if site not in self.answered]


@dataclass(slots=True)
class SiteProgress:
    absorbed: int = 0  # outcomes the site has
    answer: str = UNHEARD
    heard: float | None = None
    untrained: bool = False  # keeps a model of its own that no round has trained yet
    released: bool = False  # has everything, and was told that the study is over
    rejected: str | None = None  # the last aggregate it would not use
    halted: bool = False  # takes part no more, until its owner says otherwise
    bytes_up: int = 0
    bytes_down: int = 0

    def to_json(self, site: str, *, online: bool, now: float) -> dict[str, Any]:
        """No score and no model, for the server has none to show."""
        return {
            "site": site,
            "online": online,
            "absorbed": self.absorbed,
            "answer": self.answer,
            "rejected": self.rejected,
            "bytes_up": self.bytes_up,
            "bytes_down": self.bytes_down,
            "seconds_since_heard": None if self.heard is None else now - self.heard,
        }


@dataclass(slots=True, kw_only=True)
class CommitteeWork:
    """What opening a round's sum cost its committee, all members together: beside invitations, uploads and outcome."""

    attempt: int  # the last at this round, from 0
    seconds: float = 0.0
    bytes_of_shares: int = 0  # that came with the uploads, in this attempt
    bytes_up: int = 0
    bytes_down: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedRound:
    """How a round went: no score and no weight."""

    sent: int  # sites whose uploads came in time
    seconds: float  # it was open; after a crash, since the server's new start
    left_out: tuple[Refusal, ...]
    committee: CommitteeWork | None = None

    def to_json(self) -> dict[str, Any]:
        left_out = [{"site": refusal.site, "reason": refusal.reason} for refusal in self.left_out]
        said = {"sent": self.sent, "seconds": self.seconds, "left_out": left_out}
        return said if self.committee is None else {**said, "committee": asdict(self.committee)}

"""How a simulated round begins and ends around its uploads: at once, or by the legs of a committee."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.engine.events import SERVER, MessageSent, Observer, tell
from secure_sapefl.engine.joint_sites import JointSites
from secure_sapefl.protocol.joint.server import JointServer
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, SiteId
from secure_sapefl.protocol.server import Server


@dataclass(slots=True)
class LegTraffic:
    """Bytes of a committee's legs in a round, all members together."""

    up: int = 0
    down: int = 0


class Rounds(Protocol):
    """``traffic`` is of the last round, beside invitations, uploads and the outcome."""

    @property
    def server(self) -> Server: ...

    @property
    def traffic(self) -> LegTraffic: ...

    def open(self, round_index: int, observers: Sequence[Observer]) -> tuple[Invitation, ...]: ...

    def close(self, observers: Sequence[Observer]) -> RoundOutcome: ...


@dataclass(frozen=True, slots=True)
class PlainRounds:
    """Nothing has to happen before sites can open a sum."""

    server: Server

    @property
    def traffic(self) -> LegTraffic:
        return LegTraffic()

    def open(self, round_index: int, observers: Sequence[Observer]) -> tuple[Invitation, ...]:  # noqa: ARG002 - silent
        return self.server.open_round(round_index)

    def close(self, observers: Sequence[Observer]) -> RoundOutcome:  # noqa: ARG002
        return self.server.close_round()


class CommitteeRounds:
    """The server and every member in turn, duty by duty, as a network would carry them."""

    def __init__(self, server: JointServer, sites: JointSites) -> None:
        self._server, self._sites = server, sites
        self.traffic = LegTraffic()

    @property
    def server(self) -> Server:
        return self._server

    def open(self, round_index: int, observers: Sequence[Observer]) -> tuple[Invitation, ...]:
        self.traffic = LegTraffic()
        cohort = self._server.begin_round(round_index)
        self._sites.begin(round_index)
        self._ask_members(observers)
        self._server.press_on()
        invitations = tuple(self._server.invitation(site) for site in cohort)
        for invitation in invitations:
            self._sites.hear(invitation)
        return invitations

    def close(self, observers: Sequence[Observer]) -> RoundOutcome:
        outcome = self._server.press_on()
        while outcome is None:
            self._ask_members(observers)
            outcome = self._server.press_on()
        self._sites.erase()
        return outcome

    def _ask_members(self, observers: Sequence[Observer]) -> None:
        for member in self._server.legs.asked:
            self._ask(member, observers)

    def _ask(self, member: SiteId, observers: Sequence[Observer]) -> None:
        duty = self._server.legs.duty_for(member)
        if duty is None:
            return
        tell(observers, MessageSent(sender=SERVER, recipients=(member,), message=duty))
        deed = self._sites.perform(member, duty)
        tell(observers, MessageSent(sender=member, recipients=(SERVER,), message=deed))
        self.traffic.down += duty.size
        self.traffic.up += deed.size
        try:
            self._server.legs.hear(deed)
        except FrameRejected as error:
            self._server.refuse(member, str(error))

"""Which round of a deployed study is open, when it is time to close it, and who is left out of it.

A round ends when everybody has answered, or after its deadline once enough sites have; with fewer it stays open, which
costs nobody anything, because a site that is asked again hands in the same upload.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from secure_sapefl.coordinator.progress import ClosedRound, CommitteeWork, OpenRound, SiteProgress
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.coordinator.verdicts import Verdicts
from secure_sapefl.protocol.joint.consents import Call
from secure_sapefl.protocol.joint.messages import Duty
from secure_sapefl.protocol.messages import RoundOutcome, SiteId
from secure_sapefl.protocol.server import Server
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.wire import ToServer

_log = logging.getLogger(__name__)


class Rounds:
    """``sites`` says how far each site is, and is told here how each answered. ``ended`` is when the last round was
    closed, by ``clock``."""

    def __init__(
        self,
        file: StudyFile,
        server: Server,
        state: ServerState,
        sites: Mapping[SiteId, SiteProgress],
        clock: Callable[[], float],
    ) -> None:
        self._file, self.server, self._state, self._sites, self._clock = file, server, state, sites, clock
        self.verdicts = Verdicts(state.folder / "verdicts.json", file)
        self.open: OpenRound | None = None
        self.ended: float | None = None
        self.advance()

    @property
    def _least(self) -> int:
        """The fewest updates that make a round count."""
        return self._file.min_cohort

    @property
    def index(self) -> int:
        """The round that is open; the number of rounds once all are closed."""
        return self._state.closed

    @property
    def waiting(self) -> list[SiteId]:
        """From whom the open round may still hear."""
        return [] if self.open is None else self.open.waiting

    def invites(self, site: SiteId) -> bool:
        """Whether the open round wants an upload of this site."""
        return self.open is not None and site in self.open.waiting

    def duty_for(self, site: SiteId) -> Duty | None:  # noqa: ARG002 - see joint/rounds.py
        """What a site is asked as a member of the round's committee."""
        return None

    def call_for(self, site: SiteId) -> Call | None:  # noqa: ARG002 - see joint/rounds.py
        """What a site is asked before the first round."""
        return None

    # answers

    def take_in(self, message: ToServer) -> None:
        """What a site says of sums, and its answer to the round that is open."""
        if self.verdicts.hear(message):
            self._leave_out_suspects()
        if message.halted:
            self._sites[message.site].answer = f"halted: {message.declined}"
            return
        current = self.open
        if current is None or message.round_index != current.index or not self.invites(message.site):
            return
        if message.upload is not None:
            accepted = self.server.accept(message.upload)
            self._answered(current, message.site, "sent" if accepted else "sent something that was refused")
        elif message.declined is not None:
            self.server.refuse(message.site, message.declined)
            self._answered(current, message.site, f"declined: {message.declined}")

    def _answered(self, current: OpenRound, site: SiteId, how: str) -> None:
        current.answered.add(site)
        self._sites[site].answer = how
        _log.info("answered", extra={"site": site, "round": current.index, "answer": how})

    # opening

    def advance(self) -> None:
        """Close the open round if it is time to, and open the next one."""
        if self.open is not None and self._due(self.open):
            self._close_or_begin_anew(self.open)
        if self.open is None and self.index < self._file.rounds:
            self.open = self._begin(self.index)
        if self.open is None and self.ended is None:
            self.ended = self._clock()
            _log.info("all rounds closed", extra={"round": self.index})

    def _begin(self, index: int, too_light: tuple[SiteId, ...] = ()) -> OpenRound:
        left_out, now = self._suspects_to_leave_out(index), self._clock()
        cohort = self._begin_round(index, (*left_out, *too_light))
        _log.info("round opened", extra={"round": index, "cohort": list(cohort)})
        for site in left_out:
            self._sites[site].answer = self.verdicts.reason(site)
            _log.error(self._sites[site].answer, extra={"round": index, "site": site})
        return OpenRound(index, cohort, now, now + self._file.round_deadline, left_out, too_light, leg_began=now)

    def _begin_round(self, index: int, left_out: tuple[SiteId, ...]) -> tuple[SiteId, ...]:
        return self.server.begin_round(index, left_out)

    def _leave_out_suspects(self) -> None:
        """The open round would be spoilt like the last one. No sum of it went out: it is begun anew without some."""
        current = self.open
        if current is not None and self._suspects_to_leave_out(current.index) != current.left_out:
            self.open = self._begin(current.index)

    def _suspects_to_leave_out(self, index: int) -> tuple[SiteId, ...]:
        return self.verdicts.to_leave_out(self.server.planned(index), self._least)

    # closing

    def _due(self, current: OpenRound) -> bool:
        """With too few updates a round stays open as long as somebody may still bring one: a late site, or a halted one
        whose owner has not decided. A round that nobody can join any more ends without a sum."""
        enough = len(self.server.contributors) >= self._least
        waiting_for_owners = all(self._sites[site].halted for site in current.waiting)
        if not current.waiting or (enough and (waiting_for_owners or self._clock() >= current.deadline)):
            return True
        if not current.warned and (waiting_for_owners or self._clock() >= current.deadline):
            current.warned = True
            why = "the others are halted" if waiting_for_owners else "the deadline has passed"
            _log.warning(
                f"{why} and fewer than {self._least} sites have sent; the round stays open",
                extra={"round": current.index, "waiting": current.waiting},
            )
        return False

    def _close_or_begin_anew(self, current: OpenRound) -> None:
        """Sites would not use a sum of very unequal weights. It has not gone out: rather one without the lightest."""
        light = self.server.too_light
        if light and len(self.server.contributors) - len(light) >= self._least:
            self.open = self._begin(current.index, (*current.too_light, *light))
        else:
            self._close(current)

    def _close(self, current: OpenRound) -> None:
        """The uploads are in, or as many as will come."""
        self._name_who_is_missing(current)
        self._publish(current, self._outcome())

    def _name_who_is_missing(self, current: OpenRound) -> None:
        for site in current.waiting:
            self._miss(site)
        for site in current.left_out:
            self.server.refuse(site, self.verdicts.reason(site))
        for site in current.too_light:
            self.server.refuse(site, "its score is next to nothing beside the others'; no site would use the sum.")

    def _outcome(self) -> RoundOutcome:
        """A sum of too few sites would show them to each other: then the round ends without one."""
        contributors, least = self.server.contributors, self._least
        if len(contributors) >= least:
            return self.server.close_round(least)
        return self.server.skip_round(f"{len(contributors)} sites sent an update, the study asks for {least}.")

    def _publish(self, current: OpenRound, outcome: RoundOutcome) -> None:
        contributors = self.server.contributors
        if current.left_out:
            reports = self.verdicts.reports_on(current.left_out)
            outcome = replace(outcome, left_out=current.left_out, reports=reports)
        seconds = self._clock() - current.opened
        how = ClosedRound(
            sent=len(contributors), seconds=seconds, left_out=outcome.refusals, committee=self._committee_work()
        )
        self.verdicts.published(outcome)
        self._state.close_round(outcome, how)
        self.open = None
        for refusal in outcome.refusals:
            if refusal.site == "server":  # why there is no sum
                _log.warning(refusal.reason, extra={"round": current.index})
        _log.info("round closed", extra={"round": current.index, "contributors": list(contributors)})

    def _committee_work(self) -> CommitteeWork | None:
        return None

    def _miss(self, site: SiteId) -> None:
        if self._sites[site].halted:
            self.server.refuse(site, self._sites[site].answer)
        else:
            self.server.refuse(site, "did not answer before the round's deadline.")
            self._sites[site].answer = "late"

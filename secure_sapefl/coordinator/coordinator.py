"""The server's side of a deployed study, without a network: which message a node gets next, and what its answer means.

Nodes are whatever the transport numbers; sites are names on the roster. A node becomes a site's by an answer that the
site signed, and by nothing else. Each site is sent the outcomes it lacks, then, if it is of the round's cohort, its
invitation; one that comes after the last round is invited to a round of its own. A round ends when everybody has
answered, or after its deadline once enough sites have; with fewer it stays open, which costs nobody anything, because a
site that is asked again hands in the same upload.

Time is the monotonic clock's: moving the machine's clock changes nothing.
"""

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sapefl_crypto import Parameters
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from secure_sapefl.coordinator.progress import HERE, SILENT, UNHEARD, ClosedRound, Node, OpenRound, SiteProgress
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.coordinator.verdicts import Verdicts
from secure_sapefl.protocol.adders import encrypted_adder
from secure_sapefl.protocol.messages import RoundOutcome, SiteId
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.study import Study
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.wire import ToServer, ToSite, read_to_server, write_to_site

_log = logging.getLogger(__name__)
_BUNDLE_BYTES: Final = 64 << 20  # outcomes in one message, unless a single one is larger
_LONGEST_PAUSE: Final = 15.0


class Coordinator:
    def __init__(
        self,
        file: StudyFile,
        study: Study,
        params: Parameters,
        identity: SiteIdentity,
        state: ServerState,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file, self._identity, self._state, self._clock = file, identity, state, clock
        self.server = Server(study, partial(encrypted_adder, params, study), state.models, state.new_models)
        self._nodes: dict[int, Node] = {}
        self.sites = {site: SiteProgress() for site in file.sites}
        self.verdicts = Verdicts(state.folder / "verdicts.json", file)
        self._open: OpenRound | None = None
        self._ended: float | None = None
        self.advance()

    @property
    def round_index(self) -> int:
        """The round that is open; the number of rounds once all are closed."""
        return self._state.closed

    @property
    def finished(self) -> bool:
        """Every site has every outcome; or those that came within a deadline after the last round have."""
        if self._ended is None:
            return False
        late = self._clock() > self._ended + self._file.round_deadline
        return late or all(progress.released for progress in self.sites.values())

    # messages

    def forget_nodes(self) -> None:
        """The transport begins anew: nothing is on its way, and every node has to say again whose it is."""
        self._nodes.clear()

    def next_message(self, node: int) -> Parts | None:
        """What to send to a node now; None where there is nothing to say, or it has not answered yet."""
        at = self._nodes.setdefault(node, Node())
        if at.nonce is not None or self._clock() < at.rest_until:
            return None
        message = self._question() if at.site is None else self._message_for(at.site)
        if message is None:
            return None
        at.nonce, at.end_announced = message.nonce, message.over
        parts = write_to_site(message, self._identity, self._file.wire_name)
        if at.site is not None:
            self.sites[at.site].bytes_down += sum(map(len, parts))
        return parts

    def _question(self) -> ToSite:
        return ToSite(site=None, round_index=self.round_index, nonce=secrets.token_hex(16))

    def _message_for(self, site: SiteId) -> ToSite | None:
        progress, invitation = self.sites[site], None
        if progress.halted:
            return self._question_to_halted(site, progress)
        outcomes = self._missing(progress.absorbed)
        up_to_date = progress.absorbed + len(outcomes) == self.round_index
        over = self._ended is not None and up_to_date and not progress.released
        if self._open is not None and up_to_date and site in self._open.waiting:
            invitation = self.server.invitation(site)
        elif over and progress.untrained:
            invitation = self.server.late_invitation(site, self.round_index)
        if not (outcomes or invitation or over):
            return None
        return ToSite(
            site=site,
            round_index=self.round_index,
            nonce=secrets.token_hex(16),
            outcomes=outcomes,
            invitation=invitation,
            over=over,
        )

    def _question_to_halted(self, site: SiteId, progress: SiteProgress) -> ToSite | None:
        """Now and then, whether its owner has said to go on; until then it takes in nothing."""
        if progress.heard is not None and self._clock() < progress.heard + _LONGEST_PAUSE:
            return None
        return ToSite(site=site, round_index=self.round_index, nonce=secrets.token_hex(16))

    def _missing(self, absorbed: int) -> tuple[RoundOutcome, ...]:
        """The next outcomes a site lacks, as many as make a message of bearable size."""
        outcomes: list[RoundOutcome] = []
        for index in range(absorbed, self.round_index):
            outcome = self._state.outcome(index)
            if outcomes and sum(o.size for o in outcomes) + outcome.size > _BUNDLE_BYTES:
                break
            outcomes.append(outcome)
        return tuple(outcomes)

    # answers

    def receive(self, node: int, parts: Parts | None) -> None:
        """An answer, or None where the transport brings none. What nobody on the roster signed counts for nothing."""
        at = self._nodes[node]
        asked, at.nonce = at.nonce, None
        if parts is None:
            self._pause(at, "no answer", node)
            return
        try:
            message = read_to_server(parts, self._file.keys_by_name, self._file.wire_name)
            if message.nonce != asked:
                raise FrameRejected(
                    f"Site {message.site!r}: an answer to another question, perhaps a replay; left out."
                )
        except FrameRejected as error:
            self._pause(at, str(error), node)
            return
        at.site, at.failures = message.site, 0
        self._note(message, sum(map(len, parts)), end_announced=at.end_announced)
        self.advance()

    def _pause(self, at: Node, reason: str, node: int) -> None:
        at.failures += 1
        at.rest_until = self._clock() + min(2.0 ** (at.failures - 1), _LONGEST_PAUSE)
        if at.site is not None:
            self.sites[at.site].answer = SILENT
        _log.warning(reason, extra={"node": node, "site": at.site, "round": self.round_index})
        at.site = None

    def _note(self, message: ToServer, size: int, *, end_announced: bool) -> None:
        progress = self.sites[message.site]
        progress.heard, progress.rejected = self._clock(), message.rejected
        progress.bytes_up += size
        progress.absorbed, progress.untrained = min(message.absorbed, self.round_index), message.untrained
        progress.halted = message.halted
        progress.released = end_announced and progress.absorbed == self._file.rounds
        if progress.answer in (UNHEARD, SILENT):
            progress.answer = HERE
        if self.verdicts.hear(message):
            self._leave_out_suspects()
        if message.halted:
            progress.answer = f"halted: {message.declined}"
            return
        current = self._open
        if current is None or message.round_index != current.index or message.site not in current.waiting:
            return
        if message.upload is not None:
            accepted = self.server.accept(message.upload)
            self._answered(current, message.site, "sent" if accepted else "sent something that was refused")
        elif message.declined is not None:
            self.server.refuse(message.site, message.declined)
            self._answered(current, message.site, f"declined: {message.declined}")

    def _answered(self, current: OpenRound, site: SiteId, how: str) -> None:
        current.answered.add(site)
        self.sites[site].answer = how
        _log.info("answered", extra={"site": site, "round": current.index, "answer": how})

    # rounds

    def advance(self) -> None:
        """Close the open round if it is time to, and open the next one."""
        if self._open is not None and self._due(self._open):
            self._close_or_begin_anew(self._open)
        if self._open is None and self.round_index < self._file.rounds:
            self._open = self._begin(self.round_index)
        if self._open is None and self._ended is None:
            self._ended = self._clock()
            _log.info("all rounds closed", extra={"round": self.round_index})

    def _begin(self, index: int, too_light: tuple[SiteId, ...] = ()) -> OpenRound:
        left_out, now = self.verdicts.to_leave_out(self.server.planned(index)), self._clock()
        cohort = self.server.begin_round(index, (*left_out, *too_light))
        _log.info("round opened", extra={"round": index, "cohort": list(cohort)})
        for site in left_out:
            self.sites[site].answer = self.verdicts.reason(site)
            _log.error(self.sites[site].answer, extra={"round": index, "site": site})
        return OpenRound(index, cohort, now, now + self._file.round_deadline, left_out, too_light)

    def _leave_out_suspects(self) -> None:
        """The open round would be spoilt like the last one. No sum of it went out: it is begun anew without some."""
        current = self._open
        if current is not None and self.verdicts.to_leave_out(self.server.planned(current.index)) != current.left_out:
            self._open = self._begin(current.index)

    def _due(self, current: OpenRound) -> bool:
        """With too few updates a round stays open as long as somebody may still bring one: a late site, or a halted one
        whose owner has not decided. A round that nobody can join any more ends without a sum."""
        enough = len(self.server.contributors) >= self._file.min_cohort
        waiting_for_owners = all(self.sites[site].halted for site in current.waiting)
        if not current.waiting or (enough and (waiting_for_owners or self._clock() >= current.deadline)):
            return True
        if not current.warned and (waiting_for_owners or self._clock() >= current.deadline):
            current.warned = True
            why = "the others are halted" if waiting_for_owners else "the deadline has passed"
            _log.warning(
                f"{why} and fewer than {self._file.min_cohort} sites have sent; the round stays open",
                extra={"round": current.index, "waiting": current.waiting},
            )
        return False

    def _close_or_begin_anew(self, current: OpenRound) -> None:
        """Sites would not use a sum of very unequal weights. It has not gone out: rather one without the lightest."""
        light = self.server.too_light
        if light and len(self.server.contributors) - len(light) >= self._file.min_cohort:
            self._open = self._begin(current.index, (*current.too_light, *light))
        else:
            self._close(current)

    def _close(self, current: OpenRound) -> None:
        """A sum of too few sites would show them to each other: then the round ends without one."""
        contributors, least = self.server.contributors, self._file.min_cohort
        for site in current.waiting:
            self._miss(site)
        for site in current.left_out:
            self.server.refuse(site, self.verdicts.reason(site))
        for site in current.too_light:
            self.server.refuse(site, "its score is next to nothing beside the others'; no site would use the sum.")
        if len(contributors) >= least:
            outcome = self.server.close_round(least)
        else:
            outcome = self.server.skip_round(f"{len(contributors)} sites sent an update, the study asks for {least}.")
        if current.left_out:
            reports = self.verdicts.reports_on(current.left_out)
            outcome = replace(outcome, left_out=current.left_out, reports=reports)
        seconds = self._clock() - current.opened
        how = ClosedRound(sent=len(contributors), seconds=seconds, left_out=outcome.refusals)
        self.verdicts.published(outcome)
        self._state.close_round(outcome, how)
        self._open = None
        _log.info("round closed", extra={"round": current.index, "contributors": list(contributors)})

    def _miss(self, site: SiteId) -> None:
        if self.sites[site].halted:
            self.server.refuse(site, self.sites[site].answer)
        else:
            self.server.refuse(site, "did not answer before the round's deadline.")
            self.sites[site].answer = "late"

    # telling people

    def status(self) -> dict[str, Any]:
        """Who is in and how far."""
        now, current = self._clock(), self._open
        online = {node.site for node in self._nodes.values()}
        return {
            "study": self._file.name,
            "digest": self._file.digest,
            "rounds": self._file.rounds,
            "closed": self.round_index,
            "history": self._state.history,
            "finished": self.finished,
            "waiting_for": [] if current is None else current.waiting,
            "seconds_to_deadline": None if current is None else max(0.0, current.deadline - now),
            "sites": [one.to_json(site, online=site in online, now=now) for site, one in self.sites.items()],
            "foreign_nodes": sum(node.site is None and node.failures > 0 for node in self._nodes.values()),
        }

"""The server's side of a deployed study, without a network: which message a node gets next, and what its answer means.

Nodes are whatever the transport numbers; sites are names on the roster. A node becomes a site's by an answer that the
site signed, and by nothing else. Each site is sent the outcomes it lacks, then, if it is of the round's cohort, its
invitation; one that comes after the last round is invited to a round of its own. When rounds begin and end is said in
rounds.py.

Time is the monotonic clock's: moving the machine's clock changes nothing.
"""

import logging
import secrets
import time
from collections.abc import Callable
from typing import Any, Final

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from secure_sapefl.coordinator.new_rounds import rounds_of
from secure_sapefl.coordinator.progress import HERE, SILENT, UNHEARD, Node, SiteProgress
from secure_sapefl.coordinator.results import Results
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.coordinator.tables import Tables
from secure_sapefl.protocol.messages import RoundOutcome, SiteId
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.round_terms import RoundTerms
from secure_sapefl.transport.wire import ToServer, ToSite, read_to_server, write_to_site

_log = logging.getLogger(__name__)
_BUNDLE_BYTES: Final = 64 << 20  # outcomes in one message, unless a single one is larger
_LONGEST_PAUSE: Final = 15.0


class Coordinator:
    def __init__(
        self,
        terms: RoundTerms,
        identity: SiteIdentity,
        state: ServerState,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file, self._identity, self._state, self._clock = terms.file, identity, state, clock
        self._nodes: dict[int, Node] = {}
        self._reachable: float | None = None  # since when
        self.sites = {site: SiteProgress() for site in terms.file.sites}
        self.rounds = rounds_of(terms, state, self.sites, clock)
        self.results = Results(state.folder / "results.json", terms)
        self.tables = Tables(state.folder / "tables.json", terms.file)

    @property
    def round_index(self) -> int:
        """The round that is open; the number of rounds once all are closed."""
        return self.rounds.index

    @property
    def finished(self) -> bool:
        """Every site has every outcome; or those have that came within a deadline after the last round. A server that
        is started for latecomers counts from when they can reach it."""
        if self.rounds.ended is None or self._reachable is None:
            return False
        deadlines = 1 if self._file.metrics == "none" else 2  # results come first
        late = self._clock() > max(self.rounds.ended, self._reachable) + deadlines * self._file.round_deadline
        return late or all(progress.released for progress in self.sites.values())

    def has_released(self, node: int) -> bool:
        """Whether the site at a node has everything of this study, and was told so."""
        address = self._nodes.get(node)
        return address is not None and address.site is not None and self.sites[address.site].released

    # messages

    def forget_nodes(self) -> None:
        """The transport begins anew: nothing is on its way, and every node has to say again whose it is."""
        self._nodes.clear()
        self._mark_reachable()

    def _mark_reachable(self) -> None:
        if self._reachable is None:
            self._reachable = self._clock()

    def next_message(self, node: int) -> Parts | None:
        """What to send to a node now; None where there is nothing to say, or it has not answered yet."""
        self._mark_reachable()
        address = self._nodes.setdefault(node, Node())
        if address.nonce is not None or self._clock() < address.rest_until:
            return None
        message = self._question() if address.site is None else self._message_for(address.site)
        if message is None:
            return None
        address.nonce, address.end_announced = message.nonce, message.over
        parts = write_to_site(message, self._identity, self._file.wire_name)
        if address.site is not None:
            self.sites[address.site].bytes_down += sum(map(len, parts))
        return parts

    def _question(self) -> ToSite:
        return ToSite(site=None, round_index=self.round_index, nonce=secrets.token_hex(16))

    def _message_for(self, site: SiteId) -> ToSite | None:
        progress, invitation = self.sites[site], None
        if progress.halted:
            return self._question_to_halted(site, progress)
        outcomes = self._missing(progress.absorbed)
        up_to_date = progress.absorbed + len(outcomes) == self.round_index
        ended = self.rounds.ended is not None and up_to_date and not progress.released
        over = ended and self.results.settled
        call = self.rounds.call_for(site)
        if call is None and up_to_date and self.rounds.invites(site):
            invitation = self.rounds.server.invitation(site)
        elif over and progress.untrained:
            invitation = self.rounds.server.late_invitation(site, self.round_index)
        duty = self.rounds.duty_for(site) if call is None and up_to_date else None
        results_due = ended and not over and not self.results.has_heard(site)
        if not (outcomes or invitation or duty or call or over or results_due):
            return None
        return ToSite(
            site=site,
            round_index=self.round_index,
            nonce=secrets.token_hex(16),
            outcomes=outcomes,
            invitation=invitation,
            duty=duty,
            call=call,
            over=over,
            results=self.results.sum if over else None,
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
        address = self._nodes[node]
        asked, address.nonce = address.nonce, None
        if parts is None:
            self._pause(address, "no answer", node)
            return
        try:
            message = read_to_server(parts, self._file.keys_by_name, self._file.wire_name)
            if message.nonce != asked:
                raise FrameRejected(
                    f"Site {message.site!r}: an answer to another question, perhaps a replay; left out."
                )
        except FrameRejected as error:
            self._pause(address, str(error), node)
            return
        address.site, address.failures = message.site, 0
        self._note(message, sum(map(len, parts)), end_announced=address.end_announced)
        self.rounds.take_in(message)
        self.results.hear(message)
        self.tables.hear(message)
        self.advance()

    def _pause(self, address: Node, reason: str, node: int) -> None:
        address.failures += 1
        address.rest_until = self._clock() + min(2.0 ** (address.failures - 1), _LONGEST_PAUSE)
        if address.site is not None:
            self.sites[address.site].answer = SILENT
        _log.warning(reason, extra={"node": node, "site": address.site, "round": self.round_index})
        address.site = None

    def _note(self, message: ToServer, size: int, *, end_announced: bool) -> None:
        progress = self.sites[message.site]
        progress.heard, progress.rejected = self._clock(), message.rejected
        progress.bytes_up += size
        progress.absorbed, progress.untrained = min(message.absorbed, self.round_index), message.untrained
        progress.halted = message.halted
        progress.released = end_announced and progress.absorbed == self._file.rounds
        if progress.answer in (UNHEARD, SILENT):
            progress.answer = HERE

    def advance(self) -> None:
        """Time passes: rounds close, and test results are waited for no longer than a round."""
        self.rounds.advance()
        if self.rounds.ended is not None:
            late = self._clock() > self.rounds.ended + self._file.round_deadline
            self.results.settle([site for site, one in self.sites.items() if not one.halted], late=late)

    # telling people

    def status(self) -> dict[str, Any]:
        """Who is in and how far."""
        now, current = self._clock(), self.rounds.open
        online = {node.site for node in self._nodes.values()}
        return {
            "study": self._file.name,
            "digest": self._file.digest,
            "rounds": self._file.rounds,
            "closed": self.round_index,
            "history": self._state.history,
            "results": self.results.to_json(),
            "table": self.tables.agreed,
            "finished": self.finished,
            "waiting_for": self.rounds.waiting,
            "seconds_to_deadline": None if current is None else max(0.0, current.deadline - now),
            "sites": [one.to_json(site, online=site in online, now=now) for site, one in self.sites.items()],
            "foreign_nodes": sum(node.site is None and node.failures > 0 for node in self._nodes.values()),
        }

"""Rounds whose sums a committee opens: before and after the uploads, leg by leg, each with the round's deadline.

keys        every member announces a key; with too few the round waits, for nobody has trained yet
uploads     as in any study
deliveries  members open what was sealed for them; where some lost their keys, another attempt begins
claim       members sign the round's one claim; from here on there is no other, and no other attempt
answers     members answer the certified claim

With too few members at the deadline of one of the last three the sum stays closed, for good, and the outcome says why.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.frames import attempt_of
from secure_sapefl.coordinator.joint.consents import Consents
from secure_sapefl.coordinator.joint.files import OpenRoundFiles
from secure_sapefl.coordinator.progress import CommitteeWork, OpenRound, SiteProgress
from secure_sapefl.coordinator.rounds import Rounds
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.protocol.joint.consents import Call
from secure_sapefl.protocol.joint.messages import Deed, Duty
from secure_sapefl.protocol.joint.server import JointServer
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.messages import RoundOutcome, RoundUpload, SiteId
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.wire import ToServer

_log = logging.getLogger(__name__)
_MOST_ATTEMPTS: Final = 10  # at one round, begun because members lost their keys
_PAUSE: Final = 15.0  # seconds before a site is asked the same again


class JointRounds(Rounds):
    """``consents`` are gathered first, where committees are drawn; the nonces of ``terms`` are then theirs."""

    server: JointServer

    def __init__(
        self,
        file: StudyFile,
        terms: JointTerms,
        state: ServerState,
        sites: Mapping[SiteId, SiteProgress],
        clock: Callable[[], float],
        consents: Consents | None = None,
    ) -> None:
        self._consents = consents
        self._files = OpenRoundFiles(state.folder)
        self._work = CommitteeWork(attempt=0)
        self._asked: dict[SiteId, Duty | Call] = {}  # what is on its way to a site
        self._rests: dict[SiteId, float] = {}  # until when a site is asked nothing
        server = JointServer(terms, state.models, state.new_models, self._files.stores)
        super().__init__(file, server, state, sites, clock)

    @property
    def _least(self) -> int:
        """A round waits for as many as a committee opens a sum of."""
        return max(self._file.min_cohort, self.server.fewest_in_a_sum)

    # what sites are asked

    @property
    def waiting(self) -> list[SiteId]:
        if self._gathering is not None:
            return self._gathering.waiting
        if self.open is None or self._stage == "uploads":
            return super().waiting
        return list(self.server.legs.waiting)

    @property
    def _gathering(self) -> Consents | None:
        """While nonces are missing."""
        return self._consents if self._consents is not None and not self._consents.nonces else None

    def call_for(self, site: SiteId) -> Call | None:
        call = None if self._rest(site) or self._consents is None else self._consents.call_for(site)
        if call is not None:
            self._asked[site] = call
        return call

    def invites(self, site: SiteId) -> bool:
        return self.open is not None and self._stage == "uploads" and super().invites(site)

    def duty_for(self, site: SiteId) -> Duty | None:
        duty = None if self._rest(site) or self.open is None else self.server.legs.duty_for(site)
        if duty is not None:
            self._asked[site] = duty
            self._work.bytes_down += duty.size
        return duty

    def _rest(self, site: SiteId) -> bool:
        return self._clock() < self._rests.get(site, 0.0)

    @property
    def _stage(self) -> str:
        return self.server.legs.stage

    # answers

    def take_in(self, message: ToServer) -> None:
        """What comes from an attempt that is over counts for nothing: the site is asked again. Who would have to be
        asked the very same, because it said nothing or nothing that holds, is left alone for a while."""
        if self._from_before(message.upload):
            message = replace(message, upload=None)
        if message.upload is not None and self.invites(message.site):
            self._work.bytes_of_shares += sum(len(share.content) for share in message.upload.shares)
        super().take_in(message)
        asked = self._asked.pop(message.site, None)
        if message.said is not None and self._consents is not None:
            self._consents.hear(message.said)
        if message.deed is not None and self._is_open(message.round_index, asked):
            self._hear(message.deed)
        if self._stands(asked, message.site):
            self._rests[message.site] = self._clock() + _PAUSE

    def _stands(self, asked: Duty | Call | None, site: SiteId) -> bool:
        if isinstance(asked, Call):
            return self._consents is not None and self._consents.call_for(site) == asked
        return asked is not None and self.open is not None and self.server.legs.duty_for(site) == asked

    def _is_open(self, round_index: int, asked: Duty | Call | None) -> bool:
        """Whether this was asked in the present attempt at the open round."""
        if self.open is None or asked is None or isinstance(asked, Call):
            return False
        return (round_index, asked.attempt) == (self.open.index, self.server.legs.about.attempt)

    def _from_before(self, upload: RoundUpload | None) -> bool:
        if upload is None or upload.update is None or self.open is None:
            return False
        with suppress(FrameRejected):  # what is no frame is for the server to refuse
            return attempt_of(upload.update) < self.server.legs.about.attempt
        return False

    def _hear(self, deed: Deed) -> None:
        self._work.bytes_up += deed.size
        try:
            self.server.legs.hear(deed)
        except FrameRejected as error:
            self.server.refuse(deed.site, str(error))
            _log.warning(str(error), extra={"site": deed.site, "round": self.index})

    # from leg to leg

    def advance(self) -> None:
        if self._gathering is not None:
            return
        while self.open is not None and self._stage != "uploads" and self._leg_over(self.open):
            self._go_on(self.open)
        super().advance()

    def _due(self, current: OpenRound) -> bool:
        return self._stage == "uploads" and super()._due(current)  # of this class

    def _leg_over(self, current: OpenRound) -> bool:
        """Everybody was heard, or more would not help, or the deadline has passed."""
        legs, late = self.server.legs, self._clock() >= current.deadline
        heard = all(self._sites[member].halted for member in legs.waiting)
        if legs.stage != "keys":
            return heard or legs.plenty or late
        if late and not legs.enough and not current.warned:
            current.warned = True
            _log.warning(f"{legs.shortfall()} The round waits for them.", extra={"round": current.index})
        return legs.enough and (heard or late)

    def _go_on(self, current: OpenRound) -> None:
        legs = self.server.legs
        if legs.worth_another_attempt and legs.about.attempt + 1 < _MOST_ATTEMPTS:
            _log.warning(f"{legs.shortfall()} Another attempt begins.", extra={"round": current.index})
            self.open = self._begin(current.index, current.too_light)
            return
        for member, reason in sorted(legs.declined.items()):
            _log.warning(f"declined as a member: {reason}", extra={"round": current.index, "site": member})
        self._take(current, self.server.press_on(self._least))

    def _take(self, current: OpenRound, outcome: RoundOutcome | None) -> None:
        """An outcome ends the round; without one the next leg has begun."""
        now = self._clock()
        self._work.seconds += now - current.leg_began
        if outcome is not None:
            self._publish(current, outcome)
            self._files.clear()
            return
        if self._stage == "claim":
            assert self.server.claimed is not None
            self._files.keep_claim(self.server.claimed, self.server.legs.able)
        current.leg_began, current.deadline, current.warned = now, now + self._file.round_deadline, False
        _log.info(f"committee: {self._stage}", extra={"round": current.index})

    def _close(self, current: OpenRound) -> None:
        """The uploads are in: the rest is the committee's."""
        self._name_who_is_missing(current)
        current.leg_began = self._clock()  # of the uploads nothing counts as the committee's
        enough = len(self.server.contributors) >= self._least
        self._take(current, self.server.press_on(self._least) if enough else self._outcome())

    def _begin(self, index: int, too_light: tuple[SiteId, ...] = ()) -> OpenRound:
        """Another attempt, or the claim of the last one."""
        pending = self._files.pending(index)
        if pending is None:
            return super()._begin(index, too_light)  # of this class
        self.server.resume_claim(pending.summed, pending.attempt, pending.able, self._state.models_of(index))
        self._work = CommitteeWork(attempt=pending.attempt)
        now = self._clock()
        _log.info("the round's claim is taken up again", extra={"round": index})
        return OpenRound(index, (), now, now + self._file.round_deadline, (), leg_began=now)

    def _begin_round(self, index: int, left_out: tuple[SiteId, ...]) -> tuple[SiteId, ...]:
        attempt = self._files.next_attempt(index)
        self._work = CommitteeWork(attempt=attempt)
        return self.server.begin_round(index, left_out, attempt)

    def _leave_out_suspects(self) -> None:
        """Not once there is a claim: the round has no other."""
        if self.open is not None and self._stage not in ("claim", "answers"):
            super()._leave_out_suspects()  # of this class

    def _committee_work(self) -> CommitteeWork | None:
        return self._work

"""The site's agent: reads messages of the study's coordinator, decides, records, answers.

Whatever leaves is first paid for in the privacy ledger, then kept on disk as it will leave, then entered in the site's
ledger, and only then handed over. Killed at any point, an agent that starts again never sends a second release for a
round: it sends the one on disk, or, where none got that far, makes the one that was paid for.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from torch import Tensor

from sapefl_crypto.errors import AggregateRejected, CryptoError, FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from secure_sapefl.protocol.joint.consents import Call, Said
from secure_sapefl.protocol.joint.messages import Deed, Duty
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload
from secure_sapefl.site.counting.privacy import CountPrivacy
from secure_sapefl.site.counting.site import CountingSite
from secure_sapefl.site.evaluation import judged
from secure_sapefl.site.evaluation.results import LeavingResults
from secure_sapefl.site.invitations import late_not_as_drawn, not_as_drawn
from secure_sapefl.site.ledger.study import LedgerWriter, StudyLedger
from secure_sapefl.site.rejections import Rejections
from secure_sapefl.site.state import SiteState, StateFiles
from secure_sapefl.site.study_site import StudySite
from secure_sapefl.site.trainer.process import TrainerFailed
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.transport.heads.rounds import upload_parts
from secure_sapefl.transport.wire import ToServer, ToSite, is_to_site, read_to_site, write_to_server

_log = logging.getLogger(__name__)
_OTHER_ATTEMPT: Final = "this round was answered in another attempt, and the update is not on disk any more."
_UNFIT: Final = "training gave numbers that the study's parameters do not carry; the site's log says more."


class Agent:
    """``folder`` is the site's own for this study; ``sent_before`` are rounds whose uploads the ledger says left."""

    def __init__(
        self,
        terms: StudyTerms | CountingTerms,
        site: StudySite | CountingSite,
        identity: SiteIdentity,
        ledger: LedgerWriter,
        folder: Path,
        sent_before: frozenset[int] = frozenset(),
    ) -> None:
        self._terms, self.site, self._identity = terms, site, identity
        self._ledger = StudyLedger(ledger, study=terms.file.digest, site=site.name, sent_before=sent_before)
        self._files = StateFiles(folder, site.name)
        self._rejections = Rejections(terms.file, identity, folder, site.policy.max_rejected_sums)
        self.state = site.load_state(self._files.state_path)
        asked = terms.file.metrics == "sum" and site.policy.metrics_may_leave is not False
        self._results: LeavingResults | None = None  # where sites count, there is no model and nothing to judge
        if not isinstance(site, CountingSite):
            self._results = LeavingResults(site, self._ledger, folder, asked=asked)
        self.judged = next(reversed(judged.read(self._files.judged_path)), None)

    def answer(self, parts: Parts) -> Parts:
        """The only way in. `FrameRejected` for whatever the study's coordinator did not write to this site, now."""
        try:
            message = self._read(parts)
        except FrameRejected as error:
            self._ledger.refused_message(str(error))
            raise
        self._catch_up(message.outcomes)
        if self._results is not None and message.results is not None and self.halted is None:
            self._results.take_in(message.results)
        upload, declined = self._act(message)
        deed = None if message.duty is None else self._perform(message.duty)
        said = None if message.call is None else self._say(message.call)
        reply = ToServer(
            site=self.site.name,
            round_index=message.round_index,
            nonce=message.nonce,
            absorbed=self.state.absorbed + 1,
            untrained=self.state.untrained,
            upload=upload,
            declined=declined,
            deed=deed,
            said=said,
            rejected=self._rejections.last,
            halted=self.halted is not None,
            reports=self._rejections.reports,
            unjudged=self._rejections.unjudged,
            results=self._results_frame(),
            total=None if self._results is None else self._results.total,
            table=self._table() if message.over else None,
        )
        return write_to_server(reply, self._identity, self._terms.file.wire_name)

    def _table(self) -> bytes | None:
        """At the end of a Table 1, for the coordinator, where the owner lets it leave."""
        if not isinstance(self.site, CountingSite) or not self.site.policy.tables_may_leave:
            return None
        table = self.site.table(self.state)
        if table is not None:
            self._ledger.sent(0, "table 1", (table,), self.epsilon)
        return table

    def is_addressed_by(self, parts: Parts) -> bool:
        """Whether the coordinator wrote this in the study that this agent is of."""
        return is_to_site(parts, self._terms.file.coordinator_keys, self._terms.file.wire_name)

    def _read(self, parts: Parts) -> ToSite:
        message = read_to_site(parts, self._terms.file.coordinator_keys, self._terms.file.wire_name)
        who = f"Round {message.round_index}"
        if message.site not in (None, self.site.name):
            raise FrameRejected(f"{who}: a message to {message.site!r} came to {self.site.name!r}.")
        if message.invitation is not None and message.round_index < self.state.absorbed + 1:
            raise FrameRejected(f"{who}: an invitation to a round that is over; perhaps a replay.")
        return message

    def _act(self, message: ToSite) -> tuple[RoundUpload | None, str | None]:
        """An upload, or why there is none. A halted site does nothing but say that it is."""
        halted = self.halted
        if halted is not None:
            return None, halted if message.invitation is None else self._decline(message.round_index, halted)
        if message.over and self.state.absorbed + 1 == self._terms.file.rounds:
            self._end(message.invitation)
        elif message.invitation is not None:
            return self._respond(message.invitation)
        return None, None

    @property
    def refused_messages(self) -> int:
        return self._ledger.refused_messages

    @property
    def epsilon(self) -> float | None:
        """Spent on this study so far; None in a study without differential privacy."""
        privacy = self.site.privacy
        return None if privacy is None else privacy.sites[0].ledger.epsilon

    # aggregates

    def _catch_up(self, outcomes: Sequence[RoundOutcome]) -> None:
        """Take in what this site lacks, in order, and not a sum more once it has halted: each would be a verdict."""
        for outcome in outcomes:
            if self.halted is None and outcome.round_index == self.state.absorbed + 1:
                self._absorb(outcome)

    def _absorb(self, outcome: RoundOutcome) -> None:
        """Use the aggregate if it holds; otherwise keep the old model, and say so."""
        index, sent = outcome.round_index, self._stored(outcome.round_index)
        try:
            self._rejections.require_cause(outcome)
            theta = self.site.absorb(self.state, outcome, sent)
        except AggregateRejected as error:
            self._ledger.checked(outcome, error)
            self._rejections.add(outcome, error)
            _log.error("an aggregate was rejected: %s", error, extra={"round": index, "site": self.site.name})
            theta = self.state.theta_global
        else:
            self._ledger.checked(outcome)
        after = replace(self.state, absorbed=index, theta_global=theta)
        if not after.untrained:
            self._judge(after)
        self.site.keys.close(index)  # first: killed in between, the site must not keep what opens the round
        self._keep(after)

    def _judge(self, state: SiteState) -> None:
        """Before the state is kept: after a crash a round is rather judged twice than never."""
        if isinstance(self.site, CountingSite):
            return
        try:
            self.judged = self.site.judged(state)
        except TrainerFailed as error:
            _log.warning(str(error), extra={"round": state.absorbed, "site": self.site.name})
            return
        judged.add(self._files.judged_path, self.judged)
        self._ledger.judged(self.judged)

    @property
    def halted(self) -> str | None:
        """Why this site takes part no more."""
        return self._rejections.halted

    def resume(self) -> None:
        """The owner goes on. What was missed meanwhile is taken in first, before anything is sent."""
        self._rejections.resume()

    def _results_frame(self) -> bytes | None:
        """Of a site that has every round; a halted one says nothing."""
        has_all = self.state.absorbed + 1 == self._terms.file.rounds
        if self._results is None or not has_all or self.halted is not None:
            return None
        return self._results.frame(self.state, self.judged)

    # invitations

    def _respond(self, invitation: Invitation) -> tuple[RoundUpload | None, str | None]:
        """An upload, or why there is none; neither where outcomes are still missing."""
        index = invitation.round_index
        if index > self.state.absorbed + 1:
            return None, None
        stored = self._stored(index)
        if stored is not None:
            return self._again(stored, invitation)
        reason = self._objection(invitation)
        if reason is not None:
            return None, self._decline(index, reason)
        return self._compute(invitation)

    def _again(self, stored: RoundUpload, invitation: Invitation) -> tuple[RoundUpload | None, str | None]:
        """The upload that left, or was about to; in another attempt at the round the same update under another key."""
        reason = self.site.keys.objection(invitation)
        upload = self.site.keys.again(stored, invitation) if reason is None else None
        if upload is None:
            return None, self._decline(invitation.round_index, reason or _OTHER_ATTEMPT)
        if upload is not stored:
            self._files.keep_upload(upload)
        self._send(upload, "the same bytes again" if upload is stored else "the same update under another key")
        return upload, None

    def _objection(self, invitation: Invitation) -> str | None:
        """What is wrong with an invitation, although the coordinator signed it."""
        index = invitation.round_index
        if index in self._ledger.sent_rounds:
            return f"round {index} was answered before, and the answer is not on disk any more."
        return not_as_drawn(self._terms, self.site.name, invitation) or self.site.keys.objection(invitation)

    def _compute(self, invitation: Invitation) -> tuple[RoundUpload | None, str | None]:
        index = invitation.round_index
        reason = self._pay(index)
        if reason is not None:
            return None, self._decline(index, reason)
        try:
            upload, own, refusals = self.site.take_part(self.state, invitation)
        except (CryptoError, TrainerFailed) as error:  # for instance an update outside the study's bound
            _log.warning(str(error), extra={"round": index, "site": self.site.name})
            return None, self._decline_for_good(index, _UNFIT)
        self._warn(index, refusals)
        if upload is None:
            return None, self._decline_for_good(index, "; ".join(refusal.reason for refusal in refusals))
        self._files.keep_upload(upload)
        self._keep(replace(self.state, answered=index, own=own))
        for refusal in refusals:
            if refusal.site == self.site.name:
                self._ledger.withheld(index, refusal.reason)
        self._send(upload, self.in_sums)
        return upload, None

    def _pay(self, index: int) -> str | None:
        """Charge the round to the privacy ledger; why not, where that cannot be."""
        privacy = self.site.privacy
        if privacy is None:
            return None
        if privacy.sites[0].has_record(index):  # charged before a crash; `_objection` has seen that nothing left
            privacy.readmit(index, [0])
            return None
        _, refusals = privacy.admit(index, [0])
        return refusals[0].reason if refusals else None

    def _send(self, upload: RoundUpload, note: str) -> None:
        """Enter the upload in the ledger. If this returns, it may leave."""
        self._ledger.sent(upload.round_index, "round upload", upload_parts(upload), self.epsilon, note)

    @property
    def in_sums(self) -> str:
        """Under shared noise, the smaller number, and what it rests on."""
        shared, privacy = self._terms.shared, self.site.privacy
        if shared is None or privacy is None or isinstance(privacy, CountPrivacy):
            return ""
        spent, parties = privacy.epsilon_shared(0), shared.plan.parties
        return f"epsilon_shared {spent:.4g}, m = {parties.contributors}, t = {parties.colluders}"

    def _decline_for_good(self, index: int, reason: str) -> str:
        """A refusal that came of the records is a release too, paid for as the upload would have been. Asked again, the
        site must not try its luck again on the same payment."""
        self._ledger.sent(index, "refusal", (reason.encode(),), self.epsilon)
        return self._decline(index, reason)

    def _decline(self, index: int, reason: str) -> str:
        self._ledger.declined(index, reason)
        return reason

    def _warn(self, index: int, refusals: Iterable[Refusal]) -> None:
        for refusal in refusals:
            _log.warning(refusal.reason, extra={"round": index, "site": refusal.site})

    # committees

    def _perform(self, duty: Duty) -> Deed | None:
        """This site's part in opening the sum of the open round; nothing where it is halted, or not there yet."""
        if self.halted is not None or duty.round_index != self.state.absorbed + 1:
            return None
        try:
            return self.site.keys.perform(duty)
        except FrameRejected as error:
            self._ledger.refused_message(str(error))
            return None

    def _say(self, call: Call) -> Said | None:
        """This site's part in fixing the nonces that committees are drawn from."""
        try:
            return None if self.halted is not None else self.site.keys.answer(call)
        except FrameRejected as error:
            self._ledger.refused_message(str(error))
            return None

    # the end

    @property
    def over(self) -> bool:
        return self.state.over

    def _end(self, invitation: Invitation | None) -> None:
        """The study is over. A site that took part in no round has a model of its own from now on, too."""
        own = self._late_model(invitation) if self.state.untrained else self.state.own
        after = replace(self.state, own=own, over=True)
        if self.state.untrained:
            self._judge(after)
        self._keep(after)

    def _late_model(self, invitation: Invitation | None) -> Mapping[str, Tensor]:
        """By one round against the models that peers left; without them, the global one. Nothing leaves, so nothing is
        paid: what was made here is not private, and stays."""
        if invitation is None:
            return self.site.late_start(self.state)
        index, reason = invitation.round_index, late_not_as_drawn(self._terms, self.site.name, invitation)
        if reason is not None:
            self._decline(index, reason)
            return self.site.late_start(self.state)
        try:
            own, refusals = self.site.join_late(self.state, invitation)
        except TrainerFailed as error:
            _log.warning(str(error), extra={"round": index, "site": self.site.name})
            return self.site.late_start(self.state)
        self._warn(index, refusals)
        self._ledger.received(invitation, "for a round of its own after the last one, of which nothing leaves")
        return own

    # keeping

    def _stored(self, index: int) -> RoundUpload | None:
        """The upload of this round as it left, or was about to."""
        return self._files.upload() if self.state.answered == index else None

    def _keep(self, state: SiteState) -> None:
        state.save(self._files.state_path)
        self.state = state

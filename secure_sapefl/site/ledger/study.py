"""What an agent enters in the site's ledger about one study, in the words of the study.

Each entry is on disk before its method returns; what it speaks of may happen only then.
"""

import logging
from typing import Final, Protocol

from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.plain_text import sentence
from secure_sapefl.protocol.messages import Invitation, RoundOutcome
from secure_sapefl.site.evaluation.judged import Judged
from secure_sapefl.site.ledger.lines import Entry, SiteEvent
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.signed_parts import parts_digest

_log = logging.getLogger(__name__)
_MOST_REFUSALS: Final = 100  # on record for a start of the agent: noise at the socket must not fill the disk
_LONGEST_NOTE: Final = 1000
_MESSAGE: Final = "letter"  # as ledgers have named it since release 0.1.0


class LedgerWriter(Protocol):
    """What is needed of `SiteLedger`."""

    def append(self, event: SiteEvent) -> Entry: ...


class StudyLedger:
    """``sent_rounds`` are those of which something left; ``refused_messages`` counts also those not on record."""

    def __init__(self, ledger: LedgerWriter, *, study: str, site: str, sent_before: frozenset[int]) -> None:
        self._ledger, self._study, self._site = ledger, study, site
        self.sent_rounds = set(sent_before)
        self.refused_messages = 0

    def sent(self, index: int, message: str, parts: Parts, epsilon: float | None, note: str = "") -> None:
        """If this returns, the parts may leave."""
        size, digest = sum(map(len, parts)), parts_digest(parts)
        self._ledger.append(
            SiteEvent(
                kind="sent",
                study=self._study,
                round_index=index,
                message=message,
                size=size,
                digest=digest,
                epsilon=epsilon,
                note=note,
            )
        )
        self.sent_rounds.add(index)

    def declined(self, index: int, reason: str) -> None:
        self._ledger.append(
            SiteEvent(kind="refused", study=self._study, round_index=index, message="invitation", note=_note(reason))
        )
        _log.warning(_note(reason), extra={"round": index, "site": self._site})

    def withheld(self, index: int, reason: str) -> None:
        """The score of a round stays at the site."""
        self._ledger.append(
            SiteEvent(kind="refused", study=self._study, round_index=index, message="score", note=reason)
        )

    def refused_message(self, reason: str) -> None:
        _log.warning(_note(reason), extra={"site": self._site})
        self.refused_messages += 1
        if self.refused_messages <= _MOST_REFUSALS:
            last = " Further ones are only counted." if self.refused_messages == _MOST_REFUSALS else ""
            self._ledger.append(
                SiteEvent(kind="refused", study=self._study, message=_MESSAGE, note=_note(reason) + last)
            )

    def checked(self, outcome: RoundOutcome, rejected: AggregateRejected | None = None) -> None:
        """A round's sum was held against its claim and its tags; ``rejected`` is what was wrong with it."""
        self._ledger.append(
            SiteEvent(
                kind="checked" if rejected is None else "refused",
                study=self._study,
                round_index=outcome.round_index,
                message="aggregate",
                size=outcome.size,
                digest=parts_digest((outcome.aggregate or b"",)),
                checks=_verdicts(outcome, rejected),
                note=_why_no_sum(outcome) if rejected is None else _note(str(rejected)),
            )
        )

    def judged(self, judged: Judged) -> None:
        """The site's model was held against its test rows. What came of it stays out of the ledger, but for its digest:
        a ledger may be shown to others."""
        self._ledger.append(
            SiteEvent(
                kind="judged",
                study=self._study,
                round_index=judged.round_index,
                message="own model",
                digest=judged.digest,
                note="on test rows; the result stays at this site",
            )
        )

    def sent_results(self, frame: bytes) -> None:
        """If this returns, the frame may leave."""
        self._ledger.append(
            SiteEvent(
                kind="sent",
                study=self._study,
                message="test results",
                size=len(frame),
                digest=parts_digest((frame,)),
                note="encrypted for a sum over sites",
            )
        )

    def checked_results(self, aggregate: bytes, rejected: str = "") -> None:
        """The sum of all sites' test results was held against its claim and its tags."""
        self._ledger.append(
            SiteEvent(
                kind="refused" if rejected else "checked",
                study=self._study,
                message="sum of test results",
                size=len(aggregate),
                digest=parts_digest((aggregate,)),
                checks={"claim and tags": not rejected},
                note=_note(rejected),
            )
        )

    def received(self, invitation: Invitation, note: str) -> None:
        """Peers' models came for something of which nothing will leave."""
        digest = parts_digest(tuple(model.blob for model in invitation.models))
        self._ledger.append(
            SiteEvent(
                kind="received",
                study=self._study,
                round_index=invitation.round_index,
                message="peers' models",
                size=invitation.size,
                digest=digest,
                note=note,
            )
        )


def _note(words: str) -> str:
    """A line of the ledger is one line, whoever's words it repeats."""
    return sentence(words, _LONGEST_NOTE)


def _why_no_sum(outcome: RoundOutcome) -> str:
    """What the server says of a round without a sum."""
    if outcome.aggregate is not None:
        return ""
    return _note(" ".join(refusal.reason for refusal in outcome.refusals if refusal.site == "server"))


def _verdicts(outcome: RoundOutcome, rejected: AggregateRejected | None) -> dict[str, bool]:
    if rejected is not None:
        return {rejected.check: False}
    return {"claim and tags": True} if outcome.aggregate else {}

"""What a site does about sums that it will not use: says so, lets the author be searched for, and at some point halts.

Against its own rules: the step is skipped. Wrong tags, or shares that open nothing: reported as well, for one hostile
site can do that to all the others, and the coordinator can find it by leaving sites out; but only so often, because
every verdict on a forged sum tells a forger one bit. Anything else that is not what the server claims is the server's
own doing: the site halts. Halted, it uses no sum, judges none and sends nothing until its owner says otherwise.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

from sapefl_crypto import Aggregate
from sapefl_crypto.errors import AggregateRejected, FrameRejected
from sapefl_crypto.joint.openable import OpenableSum
from sapefl_crypto.keys.identity import SiteIdentity
from secure_sapefl.plain_text import sentence
from secure_sapefl.protocol.messages import RoundOutcome, SiteId
from secure_sapefl.site.judged_sums import JudgedSum, JudgedSums
from secure_sapefl.storage.files import write_private
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.reports import digest_of, read_report, write_report

_LEFT_OUT: Final = "left out"
_OWN_RULES: Final = ("minimum cohort", "effective cohort", "maximum share", "weight ratio", _LEFT_OUT)
_SPOILT: Final = ("tags", "shares")  # what one hostile site can do to a sum
_MOST_REPORTED: Final = 32  # sums in one message; the coordinator has heard of the earlier ones


class Rejections:
    """``folder`` is the site's own for this study; it halts at the ``most``-th sum with wrong tags."""

    def __init__(self, file: StudyFile, identity: SiteIdentity, folder: Path, most: int) -> None:
        self._file, self._identity, self._most = file, identity, most
        self._halted_path = folder / "halted"
        self._judged = JudgedSums(folder / "judged.json")
        self.last: str | None = None

    @property
    def halted(self) -> str | None:
        """Why this site takes part no more."""
        return self._halted_path.read_text() if self._halted_path.exists() else None

    def resume(self) -> None:
        """The owner goes on: the next wrong sum is the first."""
        self._judged.forgive()
        self._halted_path.unlink()

    def require_cause(self, outcome: RoundOutcome) -> None:
        """Nobody is left out of a sum as a suspect unless a sum with that site in it is known here to be wrong."""
        if not outcome.left_out:
            return
        try:
            reports = [read_report(one, self._file.keys_by_name, self._file.wire_name) for one in outcome.reports]
        except FrameRejected as error:
            raise AggregateRejected(_LEFT_OUT, str(error)) from None
        if not self._judged.justify(outcome.left_out, reports):
            names = sentence(", ".join(outcome.left_out), 100)
            raise AggregateRejected(_LEFT_OUT, f"no sum is known here to be wrong that these were in: {names}.")

    def add(self, outcome: RoundOutcome, error: AggregateRejected) -> None:
        """The server is told which check failed. By how much follows from a decryption, which is for key holders."""
        own_rule = error.check in _OWN_RULES
        self.last = f"round {outcome.round_index}: the check of {error.check} failed; the site's ledger says more."
        self._judged.add(
            JudgedSum(
                round_index=outcome.round_index,
                digest=digest_of(outcome.aggregate or b""),
                senders=_senders(outcome),
                verdict="wrong" if error.check in _SPOILT else "unjudged",
            )
        )
        if not own_rule and (error.check not in _SPOILT or self._judged.unforgiven >= self._most):
            write_private(self._halted_path, self.last.encode())

    @property
    def reports(self) -> tuple[bytes, ...]:
        study = self._file.wire_name
        wrong = self._judged.wrong[-_MOST_REPORTED:]
        return tuple(write_report(self._identity, study, one.round_index, one.digest) for one in wrong)

    @property
    def unjudged(self) -> tuple[int, ...]:
        return self._judged.unjudged[-_MOST_REPORTED:]


def _senders(outcome: RoundOutcome) -> tuple[SiteId, ...]:
    """By the claim itself, which is what was checked."""
    with suppress(AggregateRejected):
        return tuple(part.sender for part in Aggregate.from_bytes(outcome.aggregate or b"").claim)
    with suppress(AggregateRejected):
        opened = OpenableSum.from_bytes(outcome.aggregate or b"")
        return tuple(part.sender for part in opened.aggregate.claimed.claim)
    return ()

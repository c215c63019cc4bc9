"""Which sums of a study this site found wrong, or could not judge, and what it saw after them: on disk, for good.

A site reports a wrong sum, goes on without it, and lets the coordinator look for its author by leaving sites out. It
does so only so often: every verdict on a forged sum tells a forger one bit.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.storage.files import write_private
from secure_sapefl.transport.reports import Report

Verdict = Literal["wrong", "unjudged"]  # its tags do not fit; or another check kept this site from looking at them


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSum:
    round_index: int
    digest: str
    senders: tuple[SiteId, ...]
    verdict: Verdict


class JudgedSums:
    """``forgiven`` wrong sums were before the owner last said to go on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        saved: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {"forgiven": 0, "sums": []}
        self._forgiven = int(saved["forgiven"])
        self._sums = [JudgedSum(**(one | {"senders": tuple(one["senders"])})) for one in saved["sums"]]

    def add(self, one: JudgedSum) -> None:
        """Once a round: after a crash the same sum is judged again."""
        self._sums = [*(before for before in self._sums if before.round_index != one.round_index), one]
        self._save()

    def forgive(self) -> None:
        """The owner goes on: count from here."""
        self._forgiven = len(self.wrong)
        self._save()

    @property
    def wrong(self) -> tuple[JudgedSum, ...]:
        return tuple(one for one in self._sums if one.verdict == "wrong")

    @property
    def unjudged(self) -> tuple[int, ...]:
        return tuple(one.round_index for one in self._sums if one.verdict == "unjudged")

    @property
    def unforgiven(self) -> int:
        return len(self.wrong) - self._forgiven

    def justify(self, left_out: Collection[SiteId], reports: Iterable[Report]) -> bool:
        """Whether everybody who was left out as a suspect was in a sum that is known here to be wrong: found so by this
        site, or, where its rules kept it from looking, reported by at least half of those in it."""
        known = list(reports)
        wrong = [one for one in self._sums if one.verdict == "wrong" or _reported(one, known)]
        return set(left_out) <= {sender for one in wrong for sender in one.senders}

    def _save(self) -> None:
        content = {"forgiven": self._forgiven, "sums": [asdict(one) for one in self._sums]}
        write_private(self._path, json.dumps(content).encode())


def _reported(one: JudgedSum, reports: Iterable[Report]) -> bool:
    about = {report.site for report in reports if (report.round_index, report.digest) == (one.round_index, one.digest)}
    return 2 * len(about & set(one.senders)) >= len(one.senders)

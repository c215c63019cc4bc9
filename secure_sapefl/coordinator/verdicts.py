"""What sites say about the sums they were given, and whom that makes suspect. On disk: a restart forgets nothing.

The server cannot check a sum itself. A sum is wrong when more than half of those in it say so over their signatures,
not counting those whose own rules kept them from looking. One site that cries wolf is outvoted: all hold the same key,
so the same bytes pass or fail at every honest site. Without a majority either way, a sum shows nothing.
"""

import base64
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.messages import RoundOutcome, SiteId
from secure_sapefl.protocol.suspects import Trial, suspects, to_leave_out
from secure_sapefl.storage.files import write_private
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.reports import digest_of, read_report
from secure_sapefl.transport.wire import ToServer

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class PublishedSum:
    """``reports`` are the signed words of those who found it wrong."""

    digest: str
    senders: tuple[SiteId, ...]
    reports: dict[SiteId, bytes] = field(default_factory=dict)
    held_by: set[SiteId] = field(default_factory=set)
    unjudged_by: set[SiteId] = field(default_factory=set)
    held: bool | None = None  # None: not known yet

    def verdict(self) -> bool | None:
        jury = len(self.senders) - len(self.unjudged_by)
        if 2 * len(self.reports) > jury:
            return False
        return True if 2 * len(self.held_by) > jury else None


class Verdicts:
    def __init__(self, path: Path, file: StudyFile) -> None:
        self._path, self._file = path, file
        self._sums: dict[int, PublishedSum] = {}
        if path.exists():
            self._sums = {int(index): _loaded(fields) for index, fields in json.loads(path.read_bytes()).items()}

    def published(self, outcome: RoundOutcome) -> None:
        """A sum goes out to be judged."""
        if outcome.aggregate is not None and outcome.weights:
            senders = tuple(name for name, _ in outcome.weights)
            self._forget_what_is_over()
            self._sums[outcome.round_index] = PublishedSum(digest_of(outcome.aggregate), senders)
            self._save()

    def _forget_what_is_over(self) -> None:
        if not self.suspects:
            self._sums = {index: one for index, one in self._sums.items() if one.held is None}

    def hear(self, message: ToServer) -> bool:
        """Take in what a site says of sums; whether one is newly known to be wrong."""
        reported = self._reported(message)
        found_wrong = False
        for index, one in self._sums.items():
            if one.held is not None or message.site not in one.senders:
                continue
            if index in reported:
                one.reports[message.site] = reported[index]
            elif index in message.unjudged:
                one.unjudged_by.add(message.site)
            elif message.absorbed > index:
                one.held_by.add(message.site)
            one.held = one.verdict()
            found_wrong |= one.held is False
            if one.held is not None:
                self._settled(index, one)
        return found_wrong

    def _reported(self, message: ToServer) -> dict[int, bytes]:
        """Sound reports of the site itself, on the very sums that went out."""
        found = {}
        for content in message.reports:
            try:
                report = read_report(content, self._file.keys_by_name, self._file.wire_name)
            except FrameRejected as error:
                _log.warning(str(error), extra={"site": message.site})
                continue
            about = self._sums.get(report.round_index)
            if report.site == message.site and about is not None and report.digest == about.digest:
                found[report.round_index] = content
        return found

    def _settled(self, index: int, one: PublishedSum) -> None:
        self._save()
        if not one.held:
            who = sorted(self.suspects)
            said = "the sum of this round is wrong; it was spoilt by" + (" one of" if len(who) > 1 else "")
            _log.error(f"{said} {', '.join(who)}", extra={"round": index})
        elif one.reports:
            _log.error(
                f"{', '.join(sorted(one.reports))} rejected a sum that holds for the others", extra={"round": index}
            )

    @property
    def suspects(self) -> frozenset[SiteId]:
        known = (self._sums[index] for index in sorted(self._sums))
        return suspects(Trial(frozenset(one.senders), one.held) for one in known if one.held is not None)

    def to_leave_out(self, cohort: Sequence[SiteId], least: int) -> tuple[SiteId, ...]:
        """Never so many that fewer than ``least`` are left; what a site makes of a smaller sum is its own affair."""
        return to_leave_out(self.suspects, cohort, least)

    def reason(self, site: SiteId) -> str:
        wrong = ", ".join(str(index) for index, one in sorted(self._sums.items()) if one.held is False)
        if self.suspects == {site}:
            return f"left out: sums with {site} in it are wrong (rounds {wrong}), sums without it hold."
        return f"left out of this round, as one of {len(self.suspects)} who may have spoilt the sums of rounds {wrong}."

    def reports_on(self, sites: Iterable[SiteId]) -> tuple[bytes, ...]:
        """Why these are suspects, signed: for the sites to check."""
        asked = set(sites)
        wrong = [one for one in self._sums.values() if one.held is False and asked & set(one.senders)]
        return tuple(report for one in wrong for report in one.reports.values())

    def _save(self) -> None:
        write_private(self._path, json.dumps({index: _saved(one) for index, one in self._sums.items()}).encode())


def _saved(one: PublishedSum) -> dict[str, Any]:
    reports = {site: base64.b64encode(content).decode() for site, content in one.reports.items()}
    return {"digest": one.digest, "senders": one.senders, "reports": reports, "held": one.held}


def _loaded(fields: dict[str, Any]) -> PublishedSum:
    reports = {site: base64.b64decode(content) for site, content in fields["reports"].items()}
    return PublishedSum(fields["digest"], tuple(fields["senders"]), reports, held=fields["held"])

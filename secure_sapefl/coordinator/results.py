"""The server's part in test results that leave as a sum (`protocol/results.py`), after the last round.

Sites that have everything hand in a frame; the server adds what it cannot read, once, and sends the sum out with the
end of the study. Sites open it and say what it is. The server believes what enough of them say alike.
"""

import base64
import json
import logging
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from sapefl_crypto import Parameters
from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.results import ResultSum, is_result_total, least_senders, results_plan
from secure_sapefl.protocol.sums import SumOfCounts
from secure_sapefl.storage.files import write_private
from secure_sapefl.study.plain_words import noise_in_records
from secure_sapefl.study.round_terms import RoundTerms
from secure_sapefl.transport.wire import ToServer

_log = logging.getLogger(__name__)


class Results:
    """``settled`` says that there is nothing more to wait for; ``sum`` is None where none was asked for or made."""

    def __init__(self, path: Path, terms: RoundTerms) -> None:
        file = terms.file
        self._path, self._rounds, self._noised = path, file.rounds, file.privacy is not None
        summed_privately = file.metrics != "none" and file.privacy is not None
        self._noise = noise_in_records(file.privacy) if summed_privately and file.privacy is not None else None
        self._plan = None if file.metrics == "none" else _plan(terms)
        self._frames: dict[SiteId, bytes | None] = {}  # None: has none to give
        self.settled, self._senders = file.metrics == "none", 0
        self.sum: bytes | None = None
        self._totals: dict[SiteId, tuple[int, ...]] = {}
        if path.exists():
            self._load(json.loads(path.read_bytes()))

    def hear(self, message: ToServer) -> None:
        """What a site that has every round hands in, or says of the sum."""
        if message.absorbed < self._rounds:
            return
        if not self.settled:
            self._frames[message.site] = message.results
        elif self.sum is not None and message.total is not None and self._reads(message.total):
            self._totals[message.site] = message.total
            self._save()

    def _reads(self, total: tuple[int, ...]) -> bool:
        return is_result_total(total, noised=self._noised)

    def has_heard(self, site: SiteId) -> bool:
        return site in self._frames

    def settle(self, sites: Collection[SiteId], *, late: bool) -> None:
        """Make the sum once everybody has been heard, or nobody is waited for any longer."""
        if self._plan is None or self.settled or not (late or self._frames.keys() >= set(sites)):
            return
        sent = {site: frame for site, frame in self._frames.items() if frame and _fits(self._plan, site, frame)}
        if len(sent) >= self._plan.least:
            self.sum, self._senders = self._plan.added(sent), len(sent)
        else:
            _log.warning(f"{len(sent)} sites sent test results; a sum is made over at least {self._plan.least}")
        self.settled = True
        self._save()

    def to_json(self) -> dict[str, Any] | None:
        """Mean and spread, once as many sites as a sum needs say the same of it."""
        said = Counter(self._totals.values()).most_common(1)
        if self._plan is None or not said or said[0][1] < self._plan.least:
            return None
        return ResultSum(self._senders, said[0][0], self._noise).to_json() | {"agreed": said[0][1]}

    def _save(self) -> None:
        total = None if self.sum is None else base64.b64encode(self.sum).decode()
        kept = {"sum": total, "senders": self._senders, "totals": self._totals}
        write_private(self._path, json.dumps(kept).encode())

    def _load(self, kept: dict[str, Any]) -> None:
        self.settled, self._senders = True, int(kept["senders"])
        self.sum = None if kept["sum"] is None else base64.b64decode(kept["sum"])
        self._totals = {site: tuple(totals) for site, totals in kept["totals"].items()}


def _plan(terms: RoundTerms) -> SumOfCounts:
    assert isinstance(terms.params, Parameters), "a study with joint keys sums no results"
    noised = terms.file.privacy is not None
    return results_plan(terms.params, terms.study, least_senders(terms.file.min_cohort), noised=noised)


def _fits(plan: SumOfCounts, site: SiteId, frame: bytes) -> bool:
    try:
        plan.check(frame, site)
    except FrameRejected as error:
        _log.warning(str(error), extra={"site": site})
        return False
    return True

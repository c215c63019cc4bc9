"""A site's part in test results that leave as a sum: one frame after the last round, the same bytes whenever asked.

In the ledger before it leaves, like everything else. The opened total is kept for the owner, and told to the server.
"""

import json
import logging
from pathlib import Path

from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.errors import BadInput
from secure_sapefl.site.evaluation.judged import Judged
from secure_sapefl.site.ledger.study import StudyLedger
from secure_sapefl.site.state import SiteState
from secure_sapefl.site.study_site import StudySite
from secure_sapefl.storage.files import write_private

_log = logging.getLogger(__name__)


class LeavingResults:
    """``asked`` is whether the study asks for them and the owner lets them go."""

    def __init__(self, site: StudySite, ledger: StudyLedger, folder: Path, *, asked: bool) -> None:
        self._site, self._ledger, self._asked = site, ledger, asked
        self._frame_path, self._total_path = folder / "results", folder / "results.json"

    def frame(self, state: SiteState, judged: Judged | None) -> bytes | None:
        """What leaves, once: of the model after the last round. None where nothing may, or nothing can be said."""
        if not self._asked or self.total is not None:
            return None
        if self._frame_path.exists():
            return self._frame_path.read_bytes()
        counts = self._site.results(state, judged)
        if counts is None:
            return None
        frame = self._site.protected_results(counts)
        write_private(self._frame_path, frame)
        self._ledger.sent_results(frame)
        return frame

    def take_in(self, aggregate: bytes) -> None:
        """Open the sum if it holds, and is over as many sites as this owner asks for."""
        if not self._asked or self.total is not None:
            return
        sent = self._frame_path.read_bytes() if self._frame_path.exists() else None
        try:
            total = self._site.opened_results(aggregate, sent)
        except (AggregateRejected, BadInput) as error:
            _log.error("the sum of test results was rejected: %s", error, extra={"site": self._site.name})
            self._ledger.checked_results(aggregate, str(error))
            return
        self._ledger.checked_results(aggregate)
        write_private(self._total_path, json.dumps([int(count) for count in total]).encode())

    @property
    def total(self) -> tuple[int, ...] | None:
        """Of all sites that sent, as opened here."""
        if not self._total_path.exists():
            return None
        return tuple(json.loads(self._total_path.read_bytes()))

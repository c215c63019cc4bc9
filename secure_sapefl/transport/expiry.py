"""When the certificates of a study's line end, and who is told in time: the log, `status`, and the metrics.

A line whose certificate has ended is no line: relays are refused until a new one is made (docs/operations.md).
"""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from sapefl_crypto.keys.certificates import ends_at
from secure_sapefl.errors import BadInput
from secure_sapefl.transport.flower import Tls

_log = logging.getLogger(__name__)
EARLY: Final = timedelta(days=30)
_AGAIN_SECONDS: Final = 86_400.0


def warning(ends: str | None, now: datetime | None = None) -> str | None:
    """A sentence where a certificate ends within thirty days, by the status field ``certificate_ends``."""
    if ends is None:
        return None
    moment = datetime.fromisoformat(ends)
    left = moment - (now or datetime.now(UTC))
    if left > EARLY:
        return None
    when = f"{moment:%Y-%m-%d}"
    if left <= timedelta(0):
        return f"the certificate ended on {when}; nobody gets through until it is renewed"
    return f"the certificate ends on {when}, in {left.days} days; renew it before"


class CertificateWatch:
    """``ends`` is the first end of the files a party uses, as its status has it; None on a line without TLS."""

    def __init__(self, tls: Tls | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.ends = None if tls is None else _first_end(tls).isoformat()
        self._clock, self._due = clock, clock()

    def look(self) -> None:
        """To be called every now and then: a warning a day, once it is time."""
        if self._clock() < self._due:
            return
        self._due = self._clock() + _AGAIN_SECONDS
        if (said := warning(self.ends)) is not None:
            _log.warning(said)


def _first_end(tls: Tls) -> datetime:
    files = [path for path in (tls.ca, tls.certificate) if path is not None]
    try:
        return min(map(ends_at, files))
    except (OSError, ValueError):
        raise BadInput(
            f"{' or '.join(map(str, files))} is not a readable certificate (PEM). Make or fetch it again."
        ) from None

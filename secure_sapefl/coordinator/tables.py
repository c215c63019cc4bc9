"""The Table 1 of a study, as sites told it whose owners let it leave. The server opened nothing, and cannot check it:
it shows a table that as many sites as make a sum tell alike, byte for byte."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

from secure_sapefl.data.tables.table_one import TableOne
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.storage.files import write_private
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.wire import ToServer

_LONGEST: Final = 1 << 22


class Tables:
    """``path`` keeps what was told: a restart forgets nothing."""

    def __init__(self, path: Path, file: StudyFile) -> None:
        self._path, self._least = path, file.min_cohort
        self._wanted = file.kind == "statistics"
        self._told: dict[SiteId, str] = json.loads(path.read_bytes()) if path.exists() else {}

    def hear(self, message: ToServer) -> None:
        if not self._wanted or message.table is None or len(message.table) > _LONGEST:
            return
        self._told[message.site] = message.table.decode(errors="replace")
        write_private(self._path, json.dumps(self._told).encode())

    @property
    def agreed(self) -> dict[str, Any] | None:
        """What enough sites say alike, fit to be shown; None as long as they do not."""
        for text, count in Counter(self._told.values()).most_common(1):
            if count >= self._least:
                return _read(text)
        return None


def _read(text: str) -> dict[str, Any] | None:
    """The lines of a table, and nothing else that a site may have written."""
    try:
        found = TableOne.from_json(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None
    caption = f"As sites opened it, and told it alike. Counts below {found.smallest} are left out."
    return {"groups": found.groups, "lines": found.shown(), "caption": caption}

"""What left a site, what came, what was decided: on disk before anything leaves.

Lines are chained (`storage.chained_log`), and the head that counts them is signed with the site's identity: a line
changed, lost, moved or cut off is found and named. What remains possible is to put back an older copy of *both* files;
an auditor who keeps the last head he was shown notices that as well.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from secure_sapefl.site.ledger.lines import FIRST, Entry, LedgerFormat, Lines, SiteEvent, fields_of
from secure_sapefl.storage.chain import Head
from secure_sapefl.storage.chained_log import ChainedLog, head_path, read_log
from secure_sapefl.storage.files import write_private


@dataclass(frozen=True, slots=True)
class LedgerFiles:
    """The two files, for whoever only reads them."""

    path: Path

    def create(self, identity: SiteIdentity) -> None:
        """An empty ledger, made once with the site: a ledger that is missing later was removed by somebody."""
        form = LedgerFormat(self.path, identity.public, identity)
        write_private(head_path(self.path), form.write_head(Head(0, FIRST)))

    def read(self, public: SitePublicKeys) -> Lines:
        """Every entry, verified; `LedgerRejected` names the first line that is wrong. Needs no lock and no secret."""
        form = LedgerFormat(self.path, public)
        chain = read_log(self.path, form)
        return Lines(entries=tuple(map(form.read_entry, chain.links)), head=chain.head, torn=chain.torn)


class SiteLedger:
    """``with SiteLedger(home.ledger_path, identity) as ledger: ledger.append(SiteEvent(...))``."""

    def __init__(self, path: Path, identity: SiteIdentity) -> None:
        self._log = ChainedLog(path, LedgerFormat(path, identity.public, identity))
        if torn := self._log.found.torn:
            self._record_repair(len(torn))

    @property
    def head(self) -> Head:
        return self._log.head

    def append(self, event: SiteEvent) -> Entry:
        """Write and sync the event, then sign the new head. If it returns, the event is there to stay; if it raises,
        the ledger is as it was, and what the event speaks of must not happen."""
        (link,) = self._log.append([fields_of(event, datetime.now(UTC).isoformat(timespec="seconds"))])
        return Entry.from_link(link)

    def _record_repair(self, size: int) -> None:
        try:
            self.append(SiteEvent(kind="repaired", size=size, note="an unfinished last line was cut off"))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

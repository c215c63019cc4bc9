"""What a site's folder keeps of a round of counts: the total it opened, and what follows from it."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from secure_sapefl.config import Agreed
from secure_sapefl.data.tables.common import agreed
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.table_one import TableOne, table_one
from secure_sapefl.site.counting.site import opened
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.lines import Entry, SiteEvent
from secure_sapefl.site.ledger.study import LedgerWriter
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.file import StudyFile

BEFORE: Final = "preparation"  # the folder inside that of the study
COUNTS: Final = "counts"  # as the ledger calls what left


def counting_folder(home: SiteHome, terms: CountingTerms) -> Path:
    """The study's own, or one inside it for what comes before its first round."""
    folder = home.study_folder(terms.payer.digest)
    return folder if terms.file == terms.payer else folder / BEFORE


def agreed_at(home: SiteHome, file: StudyFile) -> Agreed | None:
    """What the sites of a study agreed on, as this one opened it; None where there is nothing, or nothing yet."""
    terms = CountingTerms.before_training(file)
    state = None if terms is None else _state(home, terms)
    found = None if state is None or not state.over else opened(state)
    if terms is None or found is None:
        return None
    sites, totals = found
    return agreed(totals, terms.plan, sites=sites, noised=terms.multiplier is not None)


def table_at(home: SiteHome, file: StudyFile) -> tuple[TableOne, int] | None:
    """The Table 1 of a study, and over how many sites it is; None where it is not there yet."""
    terms = CountingTerms.of_table_one(file)
    state = _state(home, terms)
    found = None if state is None else opened(state)
    if found is None or not isinstance(file.data, TableSchema):
        return None
    sites, totals = found
    return table_one(totals, file.data, file.smallest_cell, noised=terms.multiplier is not None), sites


def _state(home: SiteHome, terms: CountingTerms) -> SiteState | None:
    path = counting_folder(home, terms) / "state.npz"
    return SiteState.load(path, study=terms.file.digest, site=home.name) if path.exists() else None


class CountingLedger:
    """The site's ledger, with what happens before the first round entered under the study it belongs to, in no round
    of it."""

    def __init__(self, ledger: LedgerWriter, terms: CountingTerms) -> None:
        self._ledger, self._terms = ledger, terms

    def append(self, event: SiteEvent) -> Entry:
        message = COUNTS if event.message == "round upload" else event.message
        return self._ledger.append(
            replace(event, study=self._terms.payer.digest, round_index=None, message=message, note=event.note)
        )


def was_sent(entries: tuple[Entry, ...], terms: CountingTerms) -> bool:
    """Whether the ledger says that this site's counts have left, or were refused for good."""
    events = (entry.event for entry in entries)
    return any(
        event.kind == "sent" and event.study == terms.payer.digest and event.round_index is None for event in events
    )

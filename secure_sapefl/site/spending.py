"""The two ledgers of a site held against each other.

The ledger of differential privacy chains and counts its lines, but older copies of its two files, or none, show only
beside another record. The site's own ledger is one: with every upload it keeps the epsilon spent so far, under a signed
head.
"""

from collections.abc import Sequence

from secure_sapefl.errors import LedgerRejected
from secure_sapefl.privacy.accounting import composition, rdp_epsilon
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger_file import read_events
from secure_sapefl.privacy.replaced import replace_one_epsilon
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.site.ledger.lines import Entry
from secure_sapefl.study.file import read_signed

_ROUNDING = 1e-9


def require_on_record(home: SiteHome, events: Sequence[Event]) -> None:
    """Refuse a privacy ledger (its ``events``) that shows less than the site's signed ledger says was spent."""
    for digest, spent in _spent(LedgerFiles(home.ledger_path).read(home.public).entries).items():
        study = read_signed(home.study_path(digest))
        assert study.privacy is not None  # or nothing would have been spent on it
        found = rdp_epsilon(composition(e for e in events if e.study == study.wire_name), study.privacy.delta)
        if found < spent * (1 - _ROUNDING):
            raise LedgerRejected(
                f"{home.privacy_path} shows epsilon {found:.4g} spent on study {study.name!r}, the site's signed "
                f"ledger {spent:.4g}: lines were removed. Nothing is released on a guess; restore it from a copy."
            )


def replaced_epsilons(home: SiteHome) -> dict[str, float]:
    """What each private study has cost so far, by its digest, for a record that is replaced."""
    events = read_events(home.privacy_path)
    return {
        study.digest: replace_one_epsilon(
            composition(event for event in events if event.study == study.wire_name), study.privacy.delta
        )
        for study in home.studies()
        if study.privacy is not None
    }


def _spent(entries: Sequence[Entry]) -> dict[str, float]:
    """The most recorded for each study."""
    most: dict[str, float] = {}
    for event in (entry.event for entry in entries):
        if event.epsilon is not None:
            most[event.study] = max(event.epsilon, most.get(event.study, 0.0))
    return most

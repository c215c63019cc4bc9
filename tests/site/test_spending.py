"""A privacy ledger that was cut or removed is found by what the site's signed ledger remembers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import LedgerRejected
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.consent import approve
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import SiteLedger
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.review import review_site
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms


@pytest.fixture
def two_rounds(
    home: SiteHome, study: StudyFile, write_study: Callable[[StudyFile], Path], identities: list[SiteIdentity]
) -> SiteHome:
    """An approved study with two rounds paid for, and both recorded as sent."""
    approve(home, write_study(study), identities[0])
    with FileStore(home.privacy_path) as store, SiteLedger(home.ledger_path, identities[0]) as record:
        ledger = Ledger("a", Budget(4, 1e-5), store)
        for round_index in range(2):
            ledger.charge([
                Event(
                    mechanism="dp-sgd", release="update", noise_multiplier=2.0, sample_rate=0.2, steps=5,
                    round_index=round_index, study=study.wire_name,
                )
            ])  # fmt: skip
            record.append(SiteEvent(kind="sent", study=study.digest, round_index=round_index, epsilon=ledger.epsilon))
    return home


def test_ledgers_that_agree_are_fine(two_rounds: SiteHome, study: StudyFile) -> None:
    assert review_site(two_rounds, StudyTerms.from_file(study)).conflicts == ()


def put_back(home: SiteHome, lines: int) -> None:
    """Both files of the privacy ledger, as they were when it had so many lines."""
    kept = home.privacy_path.read_bytes().splitlines(keepends=True)[:lines]
    head = {"lines": lines, "digest": json.loads(kept[-1])["chain"]}
    home.privacy_path.write_bytes(b"".join(kept))
    home.privacy_path.with_suffix(".head").write_text(json.dumps(head))


def test_an_older_ledger_put_back_is_found(two_rounds: SiteHome, study: StudyFile) -> None:
    put_back(two_rounds, 1)
    with pytest.raises(LedgerRejected, match=r"spent on study 'heart', the site's signed ledger .* lines were removed"):
        review_site(two_rounds, StudyTerms.from_file(study))


def test_a_ledger_that_was_removed_is_found(two_rounds: SiteHome, study: StudyFile) -> None:
    two_rounds.privacy_path.unlink()
    two_rounds.privacy_path.with_suffix(".head").unlink()
    with pytest.raises(LedgerRejected, match="shows epsilon 0 spent"):
        review_site(two_rounds, StudyTerms.from_file(study))


def test_more_than_was_sent_is_no_fault(two_rounds: SiteHome, study: StudyFile) -> None:
    """A site that was killed between paying and sending has counted too much, never too little."""
    with FileStore(two_rounds.privacy_path) as store:
        store.append(list(store.load())[:1])
    assert review_site(two_rounds, StudyTerms.from_file(study)).conflicts == ()

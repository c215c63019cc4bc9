"""Consent: to one digest, by one site, under the policy of the day; and nobody else can give it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import Busy, HomeRejected, PolicyConflict, StudyRejected
from secure_sapefl.site.consent import approve, require_approved, require_consent, withdraw
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.policy import TEMPLATE
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms

WriteStudy = Callable[[StudyFile], Path]


@pytest.fixture
def approved(home: SiteHome, study: StudyFile, write_study: WriteStudy, identities: list[SiteIdentity]) -> StudyFile:
    approve(home, write_study(study), identities[0])
    return study


def kinds(home: SiteHome) -> list[str]:
    return [entry.event.kind for entry in LedgerFiles(home.ledger_path).read(home.public).entries]


def test_consent_is_kept_with_the_study_and_on_record(home: SiteHome, approved: StudyFile) -> None:
    consent = require_approved(home, StudyTerms.from_file(approved))
    assert (consent.site, consent.study, consent.digest) == ("a", "heart", approved.digest)
    assert list(home.studies()) == [approved]
    assert kinds(home) == ["approved"]
    assert home.consent_path(approved.digest).stat().st_mode & 0o777 == 0o600


def test_how_many_records_there_are_decides_nothing_after_consent(home: SiteHome, approved: StudyFile) -> None:
    """A private study starts by what is declared: whether a site comes must not tell its number of records."""
    lines = home.data_path.read_text().splitlines()
    home.data_path.write_text("\n".join(lines[:4]) + "\n")
    assert require_approved(home, StudyTerms.from_file(approved)).digest == approved.digest


def test_without_consent_nothing_starts(home: SiteHome, study: StudyFile) -> None:
    with pytest.raises(StudyRejected, match=f"has not approved study 'heart' with digest {study.digest[:16]}"):
        require_approved(home, StudyTerms.from_file(study))


def test_a_changed_study_was_not_approved(home: SiteHome, approved: StudyFile) -> None:
    with pytest.raises(StudyRejected, match="has not approved"):
        require_consent(home, approved.model_copy(update={"rounds": 3}))


def test_a_conflict_is_not_approved(
    home: SiteHome, study: StudyFile, write_study: WriteStudy, identities: list[SiteIdentity]
) -> None:
    home.policy_path.write_text(TEMPLATE.replace("max_epsilon_per_study = 4.0", "max_epsilon_per_study = 3.0"))
    with pytest.raises(PolicyConflict, match="epsilon of this study"):
        approve(home, write_study(study), identities[0])
    assert not home.study_folder(study.digest).exists()
    assert kinds(home) == []


def test_a_policy_tightened_later_stops_the_study(home: SiteHome, approved: StudyFile) -> None:
    home.policy_path.write_text(TEMPLATE.replace('"sapefl", ', ""))
    with pytest.raises(PolicyConflict, match="method"):
        require_approved(home, StudyTerms.from_file(approved))
    require_consent(home, approved)


@pytest.mark.parametrize("field", ["site", "study", "digest", "policy", "at", "signature"])
def test_a_consent_cannot_be_changed(home: SiteHome, approved: StudyFile, field: str) -> None:
    path = home.consent_path(approved.digest)
    fields = json.loads(path.read_text())
    for altered in ({**fields, field: fields[field] + "x"}, {k: v for k, v in fields.items() if k != field}, []):
        path.write_text(json.dumps(altered))
        with pytest.raises(HomeRejected, match="not signed by this site, or was altered"):
            require_consent(home, approved)


def test_consent_to_one_study_does_not_serve_another(home: SiteHome, approved: StudyFile) -> None:
    other = approved.model_copy(update={"rounds": 99})
    home.study_folder(other.digest).mkdir(mode=0o700)
    home.consent_path(other.digest).write_bytes(home.consent_path(approved.digest).read_bytes())
    with pytest.raises(HomeRejected, match="consent to another study"):
        require_consent(home, other)


def test_consent_is_withdrawn_on_record(home: SiteHome, approved: StudyFile, identities: list[SiteIdentity]) -> None:
    withdraw(home, approved, identities[0])
    with pytest.raises(StudyRejected, match="has not approved"):
        require_consent(home, approved)
    with pytest.raises(StudyRejected, match="has not approved"):
        withdraw(home, approved, identities[0])
    assert kinds(home) == ["approved", "withdrawn"]


def test_with_consent_goes_what_was_kept_for_another_attempt(
    home: SiteHome, approved: StudyFile, identities: list[SiteIdentity]
) -> None:
    """The site's own update in an open round of joint keys, also of the counts before training."""
    folder = home.study_folder(approved.digest)
    (folder / "before").mkdir()
    kept = [folder / "answer.npz", folder / "before" / "answer.npz", folder / ".answer.npz.0123"]
    for path in kept:
        path.write_bytes(b"numbers")
    withdraw(home, approved, identities[0])
    assert not any(path.exists() for path in kept)
    assert home.study_path(approved.digest).exists()


def test_approved_again_a_joint_study_keeps_the_nonce_that_the_site_may_have_committed_to(
    home: SiteHome, study: StudyFile, write_study: WriteStudy, identities: list[SiteIdentity]
) -> None:
    path = write_study(joint(study))
    first = approve(home, path, identities[0]).nonce
    assert len(bytes.fromhex(first)) == 32
    assert approve(home, path, identities[0]).nonce == first
    consent = home.consent_path(joint(study).digest)
    consent.write_bytes(consent.read_bytes().replace(first[:4].encode(), b"beef"))
    assert approve(home, path, identities[0]).nonce not in (first, "beef" + first[4:]), "a forged one is not kept"


def joint(study: StudyFile) -> StudyFile:
    return study.model_copy(update={"keys": "joint"})


def test_no_consent_without_a_ledger_to_write_it_in(
    home: SiteHome, study: StudyFile, write_study: WriteStudy, identities: list[SiteIdentity]
) -> None:
    with SiteLedger(home.ledger_path, identities[0]), pytest.raises(Busy, match="held by process"):
        approve(home, write_study(study), identities[0])
    assert not home.consent_path(study.digest).exists()


def test_a_file_exchanged_while_it_is_approved(
    home: SiteHome,
    study: StudyFile,
    write_study: WriteStudy,
    identities: list[SiteIdentity],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write_study(study)
    honest = SiteHome.study_folder

    def exchange(self: SiteHome, digest: str) -> Path:
        write_study(study.model_copy(update={"rounds": 1000}))
        return honest(self, digest)

    monkeypatch.setattr(SiteHome, "study_folder", exchange)
    with pytest.raises(StudyRejected, match="was changed while it was being approved"):
        approve(home, path, identities[0])
    assert not home.consent_path(study.digest).exists()

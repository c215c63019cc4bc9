"""A site's folder: private, whole, and never opened by accident for somebody else's key or study."""

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from sapefl_crypto import CohortKey, KeyRejected, Parameters, SiteIdentity
from sapefl_crypto.keys.custody import cohort_record, seal_copy
from sapefl_crypto.keys.keyfile import KeyRecord, write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import BadInput, HomeRejected
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.site.policy import TEMPLATE, Policy
from secure_sapefl.study.file import StudyFile

PARAMS = Parameters.exact(max_clients=3)


def cohort(study: str = "heart", params: Parameters = PARAMS) -> KeyRecord:
    secret = Secret(CohortKey.generate(params).export_secret())
    return cohort_record(secret, study=study, parameters=asdict(params))


@pytest.fixture
def sealed(tmp_path: Path, identities: list[SiteIdentity]) -> Callable[[KeyRecord], Path]:
    def write(record: KeyRecord) -> Path:
        path = tmp_path / f"{record.about['fingerprint']}.sealed"
        write_key(path, seal_copy(record, identities[0].public), replace=True)
        return path

    return write


def test_everything_in_it_is_private(home: SiteHome) -> None:
    for path in (home.path, *home.path.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)
    assert LedgerFiles(home.ledger_path).read(home.public).entries == ()


def test_it_knows_whose_it_is(home: SiteHome, identities: list[SiteIdentity], data_file: Path) -> None:
    again = SiteHome(home.path)
    assert (again.name, again.public, again.data_path) == ("a", identities[0].public, data_file)
    assert again.identity().public == identities[0].public
    assert again.data_path.is_absolute()


def test_the_policy_template_is_a_policy(home: SiteHome) -> None:
    policy = home.policy()
    assert (policy.min_cohort, policy.max_epsilon_per_study, policy.metrics_may_leave) == (3, 4.0, False)
    assert home.policy_path.read_text() == TEMPLATE


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, identities: list[SiteIdentity]) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(HomeRejected, match="holds something already"):
        SiteHome.create(tmp_path, identities[0], Path("data.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_others_may_enter_is_refused(home: SiteHome) -> None:
    home.path.chmod(0o750)
    with pytest.raises(HomeRejected, match=r"mode 0750.*chmod 700"):
        SiteHome(home.path)


def test_what_is_no_site_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(HomeRejected, match="not a site's folder"):
        SiteHome(tmp_path)


def test_another_users_folder_is_refused(home: SiteHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(HomeRejected, match="belongs to another user"):
        SiteHome(home.path)


def test_the_cohort_key_goes_in_and_comes_out(
    home: SiteHome, study: StudyFile, sealed: Callable[[KeyRecord], Path]
) -> None:
    record = cohort()
    assert home.cohort_fingerprint(study) is None
    home.take_cohort_key(sealed(record), str(record.about["fingerprint"]).upper())
    assert home.cohort_key(study, PARAMS).fingerprint == CohortKey.from_secret(record.body.reveal()).fingerprint
    assert home.cohort_fingerprint(study) == record.about["fingerprint"]
    assert (home.path / "cohort" / "heart.key").stat().st_mode & 0o777 == 0o600


def test_a_key_with_another_fingerprint_is_not_kept(
    home: SiteHome, study: StudyFile, sealed: Callable[[KeyRecord], Path]
) -> None:
    with pytest.raises(KeyRejected, match="ask the custodian"):
        home.take_cohort_key(sealed(cohort()), str(cohort().about["fingerprint"]))
    assert home.cohort_fingerprint(study) is None


def test_a_key_is_replaced_only_on_purpose(
    home: SiteHome, study: StudyFile, sealed: Callable[[KeyRecord], Path]
) -> None:
    first, second = cohort(), cohort()
    home.take_cohort_key(sealed(first), str(first.about["fingerprint"]))
    with pytest.raises(KeyRejected, match="exists"):
        home.take_cohort_key(sealed(second), str(second.about["fingerprint"]))
    home.take_cohort_key(sealed(second), str(second.about["fingerprint"]), replace=True)
    assert home.cohort_fingerprint(study) == second.about["fingerprint"]


def test_a_study_name_is_no_way_out_of_the_folder(home: SiteHome, sealed: Callable[[KeyRecord], Path]) -> None:
    record = cohort(study="../../heart")
    with pytest.raises(BadInput, match="beginning with a letter"):
        home.take_cohort_key(sealed(record), str(record.about["fingerprint"]))


def test_a_key_for_other_parameters_is_not_used(
    home: SiteHome, study: StudyFile, sealed: Callable[[KeyRecord], Path]
) -> None:
    with pytest.raises(HomeRejected, match="has no cohort key for 'heart'"):
        home.cohort_key(study, PARAMS)
    record = cohort(params=Parameters.exact(max_clients=9))
    home.take_cohort_key(sealed(record), str(record.about["fingerprint"]))
    with pytest.raises(HomeRejected, match=r"planned for 9 sites.*the study for 3"):
        home.cohort_key(study, PARAMS)


@pytest.mark.parametrize("line", ["max_share = 0.6\n", "metrics_may_leave = false\n"])
def test_a_policy_says_everything_itself(tmp_path: Path, line: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(TEMPLATE.replace(line, ""))
    with pytest.raises(BadInput, match=line.split()[0]):
        Policy.load(path)
    path.write_text(TEMPLATE + "max_epsilom = 3\n")
    with pytest.raises(BadInput, match="unknown key 'max_epsilom'"):
        Policy.load(path)


def test_the_policy_becomes_conditions_on_every_sum(home: SiteHome) -> None:
    claims = home.policy().claims()
    assert (claims.min_cohort, claims.min_effective_cohort, claims.max_share, claims.own) == (3, 2.0, 0.6, None)
    assert claims.max_weight_ratio == 100.0

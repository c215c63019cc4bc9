"""A site's keys from the files of its home: the kind that the study has, or a sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapefl_crypto import CohortKey, SiteIdentity
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.custody import cohort_record, seal_copy
from sapefl_crypto.keys.keyfile import write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import HomeRejected
from secure_sapefl.protocol.joint.consents import Call, Commitment, Opening, commitment
from secure_sapefl.site.consent import approve, require_consent
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.key_files import site_keys
from secure_sapefl.site.keys import JointKeys, SharedKey
from secure_sapefl.site.review import review_site
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.round_terms import RoundTerms
from secure_sapefl.study.terms import StudyTerms
from tests.deployed_study import Notes

PRIVACY = {"epsilon": 4, "delta": 1e-5}


@pytest.fixture
def take(home: SiteHome, identities: list[SiteIdentity], tmp_path: Path) -> Callable[..., None]:
    """Put a sealed copy of this secret into the home."""

    def take(secret: bytes, **about: Any) -> None:
        record = cohort_record(Secret(secret), study="heart", parameters=about)
        write_key(tmp_path / "sealed", seal_copy(record, identities[0].public), replace=True)
        home.take_cohort_key(tmp_path / "sealed", str(record.about["fingerprint"]), replace=True)

    return take


def test_by_the_study_shared_or_joint(
    home: SiteHome, make_study: Callable[..., StudyFile], take: Callable[..., None], identities: list[SiteIdentity]
) -> None:
    shared, joint = (
        StudyTerms.from_file(make_study(keys=keys, method="fedavg", privacy=PRIVACY)) for keys in ("shared", "joint")
    )
    take(CohortKey.generate(shared.params).export_secret())
    assert isinstance(site_keys(home, shared, identities[0], Notes(), None), SharedKey)
    with pytest.raises(HomeRejected, match="is for shared keys, the study has joint ones"):
        site_keys(home, joint, identities[0], Notes(), None)
    with pytest.raises(HomeRejected, match="is for shared keys, the study has joint ones"):
        review_site(home, joint)  # the owner hears of it before consent, not at the first start
    assert not review_site(home, shared).conflicts
    take(TagRoot.generate().export_secret(), keys="joint")
    assert isinstance(site_keys(home, joint, identities[0], Notes(), None), JointKeys)
    with pytest.raises(HomeRejected, match="is for joint keys, the study has shared ones"):
        site_keys(home, shared, identities[0], Notes(), None)


def test_where_committees_are_drawn_the_nonce_is_the_one_of_the_consent(
    home: SiteHome,
    make_study: Callable[..., StudyFile],
    write_study: Callable[[StudyFile], Path],
    take: Callable[..., None],
    identities: list[SiteIdentity],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapefl_crypto.joint.drawing.ALL_SIT_UP_TO", 2)
    study = make_study(keys="joint", method="fedavg", privacy=PRIVACY)
    take(TagRoot.generate().export_secret(), keys="joint")
    approve(home, write_study(study), identities[0])
    nonce = require_consent(home, study).nonce
    assert len(nonce) == 64
    keys = site_keys(home, StudyTerms.from_file(study), identities[0], Notes(), None)
    said = keys.answer(Call())
    assert said == site_keys(home, StudyTerms.from_file(study), identities[0], Notes(), None).answer(Call())
    assert nonce not in str(said)


def test_a_nonce_shown_before_the_training_is_not_the_one_of_the_training(
    home: SiteHome,
    make_study: Callable[..., StudyFile],
    write_study: Callable[[StudyFile], Path],
    take: Callable[..., None],
    identities: list[SiteIdentity],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Else a site that has seen all nonces while columns were counted commits to one that draws the committees of the
    training as it likes."""
    monkeypatch.setattr("sapefl_crypto.joint.drawing.ALL_SIT_UP_TO", 2)
    study = make_study(keys="joint", method="fedavg", privacy=PRIVACY, preparation="common")
    take(TagRoot.generate().export_secret(), keys="joint")
    approve(home, write_study(study), identities[0])
    counting = CountingTerms.before_training(study)
    assert counting is not None
    before = _shown(home, counting, identities, tmp_path / "counting")
    then = _shown(home, StudyTerms.from_file(study), identities, tmp_path / "training")
    assert before != then
    assert require_consent(home, study).nonce not in {before.hex(), then.hex()}


def _shown(home: SiteHome, terms: RoundTerms, identities: list[SiteIdentity], folder: Path) -> bytes:
    """The nonce that this site shows once all have committed to theirs."""
    folder.mkdir()
    keys = site_keys(home, terms, identities[0], Notes(), None, folder)
    own = keys.answer(Call())
    assert isinstance(own, Commitment)
    others = (commitment(one, terms.file.wire_name, bytes(32)) for one in identities[1:])
    opened = keys.answer(Call(commitments=(own, *others)))
    assert isinstance(opened, Opening)
    return opened.nonce

"""A new key for a site: what was spent is not forgotten, and a crash leaves the old site or the new one."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import HomeRejected, LedgerRejected
from secure_sapefl.site.consent import approve, withdraw
from secure_sapefl.site.home import ROTATION, SiteHome
from secure_sapefl.site.ledger import rotation
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.ledger.rotation import rotate
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.file import StudyFile

NEW = SiteIdentity.from_secret(b"SPID\x01" + bytes([9] * 64) + b"a")


def test_the_new_key_goes_on_with_everything_of_the_old_one(home: SiteHome, identities: list[SiteIdentity]) -> None:
    policy = home.policy_path.read_bytes()
    with SiteLedger(home.ledger_path, identities[0]) as ledger:
        ledger.append(SiteEvent(kind="sent", study="0" * 64, round_index=0, epsilon=1.5))
    made = rotate(home, identities[0], NEW)
    assert made.public == NEW.public
    assert made.identity().public == NEW.public
    assert (made.data_path, made.policy_path.read_bytes()) == (home.data_path, policy)
    entries = LedgerFiles(made.ledger_path).read(made.public).entries
    assert [entry.event.kind for entry in entries][-2:] == ["sent", "rotated"]
    assert NEW.public.fingerprint in entries[-1].event.note
    assert entries[-2].event.epsilon == 1.5
    with SiteLedger(made.ledger_path, NEW) as ledger:
        ledger.append(SiteEvent(kind="started", study="0" * 64))
    with pytest.raises(LedgerRejected):
        LedgerFiles(made.ledger_path).read(identities[0].public)
    assert not (made.path / ROTATION).exists()


def test_a_study_that_names_the_old_key_is_finished_or_left_first(
    home: SiteHome, study: StudyFile, write_study: Callable[[StudyFile], Path], identities: list[SiteIdentity]
) -> None:
    home.policy_path.write_text(
        home.policy_path.read_text().replace("without_privacy = false", "without_privacy = true")
    )
    approve(home, write_study(study), identities[0])
    with pytest.raises(HomeRejected, match=r"'heart'.*is approved and not over"):
        rotate(home, identities[0], NEW)
    state = SiteState(
        study=study.digest, site="a", absorbed=1, answered=1, theta_global=torch.zeros(2), own={}, over=True
    )
    state.save(home.state_path(study.digest))
    copy = home.path.with_name("copy")
    shutil.copytree(home.path, copy)
    assert rotate(SiteHome(copy), identities[0], NEW).public == NEW.public
    home.state_path(study.digest).unlink()
    withdraw(home, study, identities[0])
    assert rotate(home, identities[0], NEW).public == NEW.public


@pytest.mark.parametrize("moved", [0, 1, 2, 3])
def test_a_crash_leaves_the_old_site_or_the_new_one(
    home: SiteHome, identities: list[SiteIdentity], monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Killed before the new files are whole, or after ``moved`` of the three have taken their places."""
    real, left = Path.replace, [moved]

    def replace(self: Path, target: Any) -> Path:
        if self.parent.name == ROTATION:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        if moved < 3:
            with pytest.raises(KeyboardInterrupt):
                rotate(home, identities[0], NEW)
        else:
            rotate(home, identities[0], NEW)
    after = SiteHome(home.path)
    assert after.public == after.identity().public == NEW.public
    assert LedgerFiles(after.ledger_path).read(after.public).entries[-1].event.kind == "rotated"


def test_before_the_new_files_are_whole_the_old_key_holds(
    home: SiteHome, identities: list[SiteIdentity], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(rotation, "write_key", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(OSError, match="full"):
            rotate(home, identities[0], NEW)
    assert SiteHome(home.path).public == identities[0].public
    assert rotate(SiteHome(home.path), identities[0], NEW).public == NEW.public


@pytest.mark.parametrize(("other", "sentence"), [("b", "is of 'b', this site is 'a'"), ("a", "the key this site has")])
def test_a_key_that_cannot_be_meant(home: SiteHome, identities: list[SiteIdentity], other: str, sentence: str) -> None:
    with pytest.raises(HomeRejected, match=sentence):
        rotate(home, identities[0], next(one for one in identities if one.public.name == other))

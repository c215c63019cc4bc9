"""`site rotate`: old and new key with passphrases of their own."""

from pathlib import Path

from typer.testing import CliRunner

from sapefl_crypto.keys.keyfile import inspect_key
from secure_sapefl.cli.app import app
from secure_sapefl.site.home import SiteHome
from tests.small_study import coordinator, data_file, home, identities, make_study, study, study_values, write_study

__all__ = ["coordinator", "data_file", "home", "identities", "make_study", "study", "study_values", "write_study"]


def test_the_new_key_keeps_its_own_passphrase(home: SiteHome, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.touch(mode=0o600)
    words.write_text("a new and long passphrase\n")
    key = tmp_path / "new.key"

    def run(*arguments: str) -> str:
        return CliRunner().invoke(app, arguments, catch_exceptions=False).output

    made = run("keys", "site", "--name", "a", "--out", str(key), "--passphrase-file", str(words))
    said = run("site", "rotate", "--home", str(home.path), "--identity", str(key), "--new-passphrase-file", str(words))
    after = SiteHome(home.path)
    assert after.public.fingerprint in made
    assert f"Site 'a' has key {after.public.fingerprint} now." in said
    assert inspect_key(after.identity_path).protection == inspect_key(key).protection

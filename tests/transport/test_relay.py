"""What the relay is given: a folder, a key of its own, a copy of the authority; and whom it runs as."""

import os
import stat
from pathlib import Path

import pytest

from secure_sapefl.errors import BadInput, OutputFailed
from secure_sapefl.transport.flower import Tls
from secure_sapefl.transport.relay import RelayFolder
from secure_sapefl.transport.users import OtherUser


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path: Path) -> RelayFolder:
    made = RelayFolder(tmp_path / "site.run", OtherUser())
    made.prepare()
    return made


def test_nobody_else_may_enter(folder: RelayFolder) -> None:
    assert mode(folder.path) == mode(folder.path / "flower") == 0o700
    folder.prepare()  # a second start finds it there


def test_the_key_is_made_once_and_the_authority_is_copied_each_time(folder: RelayFolder, tmp_path: Path) -> None:
    kept = tmp_path / "private"
    kept.mkdir(mode=0o700)
    for content in ("old", "new"):
        (kept / "ca.pem").write_text(content)
        relay = folder.relay("study.example.org:443", Tls(ca=kept / "ca.pem"))
        assert (folder.path / "ca.pem").read_text() == content
        key = (folder.path / "node.key").read_bytes()
        assert str(kept) not in " ".join(relay.command)
        assert relay.command[relay.command.index("--root-certificates") + 1] == str(folder.path / "ca.pem")
    assert (folder.path / "node.key").read_bytes() == key
    assert mode(folder.path / "node.key") == 0o600


def test_without_tls_there_is_neither_key_nor_authority(folder: RelayFolder) -> None:
    assert "--insecure" in folder.relay("127.0.0.1:9092", None).command
    assert sorted(path.name for path in folder.path.iterdir()) == ["flower"]


def test_an_authority_that_is_not_there_is_a_sentence(folder: RelayFolder, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no\.pem cannot be read.*No such file"):
        folder.relay("h:1", Tls(ca=tmp_path / "no.pem"))


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputFailed, match="cannot be made ready for the relay"):
        RelayFolder(tmp_path / "file" / "run", OtherUser()).prepare()


def test_a_user_that_is_not_there_is_a_sentence() -> None:
    assert OtherUser.named(None) == OtherUser()
    with pytest.raises(BadInput, match="no user 'no-such-user'"):
        OtherUser.named("no-such-user")


def test_only_root_may_choose_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BadInput, match="Only root"):
        OtherUser.named("root")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_user_gets_its_own_files_and_no_more(tmp_path: Path) -> None:
    user = OtherUser.named("nobody")
    folder = RelayFolder(tmp_path / "run", user)
    folder.prepare()
    (tmp_path / "ca.pem").write_text("authority")
    (tmp_path / "ca.pem").chmod(0o600)
    folder.relay("h:1", Tls(ca=tmp_path / "ca.pem"))
    os.chown(folder.path / "node.key", 0, 0)  # as some supervisors do with what lies in a service's folder
    folder.relay("h:1", Tls(ca=tmp_path / "ca.pem"))
    status = folder.path.stat()
    assert (status.st_uid, status.st_gid, mode(folder.path)) == (0, user.gid, 0o710)
    owners = {path.name: path.stat().st_uid for path in folder.path.iterdir()}
    assert owners == {"flower": user.uid, "node.key": user.uid, "ca.pem": 0, "node.key.pub": 0}
    assert mode(folder.path / "ca.pem") == 0o644

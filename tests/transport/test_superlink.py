"""What the server's share of Flower is told: an address on loopback, a socket, and nothing of the study."""

import os
import socket
from pathlib import Path

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.transport import superlink
from secure_sapefl.transport.flower import Child, Tls, environment
from secure_sapefl.transport.relay import RelayFolder
from secure_sapefl.transport.superlink import SuperLink, listening
from secure_sapefl.transport.users import OtherUser


@pytest.fixture
def near(tmp_path: Path) -> RelayFolder:
    made = RelayFolder(tmp_path / "server.run", OtherUser())
    made.prepare()
    return made


@pytest.fixture
def link(near: RelayFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuperLink:
    monkeypatch.setattr(superlink, "run_once", lambda *_: '{ "success": true, "run-id": "77", "fab-id": "x" }')
    monkeypatch.setenv("SAPEFL_PASSPHRASE", "correct horse")
    monkeypatch.setenv("SAPEFL_SERVER_KEY", "coordinator.key")
    (tmp_path / "server").mkdir()
    return SuperLink(near, tmp_path / "server", tls=True)


def variables(child: Child) -> dict[str, str]:
    return {**environment(child.home), **child.extra}


def test_the_serverapp_is_told_where_the_socket_is_and_nothing_else(link: SuperLink, near: RelayFolder) -> None:
    child = link.new_run()
    ours = {name: value for name, value in variables(child).items() if name.startswith("SAPEFL_")}
    assert ours == {"SAPEFL_COORDINATOR_SOCKET": str(near.socket)}
    assert "correct horse" not in {*variables(child).values(), *child.command}
    folder = str(near.path)
    paths = [word for word in child.command[1:] if word.startswith("/")]
    assert paths
    assert all(path.startswith(folder) for path in paths)
    assert "77" in child.command


def test_the_superlink_listens_on_loopback_and_starts_nothing_by_itself(link: SuperLink) -> None:
    command = list(link.child.command)
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[command.index("--isolation") + 1] == "process"
    assert not [name for name in variables(link.child) if name.startswith("SAPEFL_")]


def test_the_certificate_sites_are_shown_stays_with_the_gate(link: SuperLink, tmp_path: Path) -> None:
    tls = Tls(ca=tmp_path / "ca.pem", certificate=tmp_path / "server.pem", key=tmp_path / "server.key")
    with socket.socket() as listener:
        gate = link.gate(listener, tls)
    assert str(tls.key) in gate.command
    assert str(tls.key) not in {*link.child.command, *link.new_run().command}
    assert not [name for name in variables(gate) if name.startswith("SAPEFL_")]


def test_what_flower_holds_is_made_anew_and_its_authority_signs_nothing_more(
    link: SuperLink, near: RelayFolder, tmp_path: Path
) -> None:
    before = {path.name: path.read_bytes() for path in (near.path / "tls").iterdir()}
    assert set(before) == {"ca.pem", "server.pem", "server.key"}
    secret = (near.path / "secret").read_bytes()
    SuperLink(near, tmp_path / "server", tls=True)
    assert all((near.path / "tls" / name).read_bytes() != content for name, content in before.items())
    assert (near.path / "secret").read_bytes() != secret


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_user_gets_flowers_files_and_no_more(tmp_path: Path) -> None:
    user = OtherUser.named("nobody")
    near = RelayFolder(tmp_path / "run", user)
    near.prepare()
    (tmp_path / "server").mkdir()
    link = SuperLink(near, tmp_path / "server", tls=True)
    assert link.child.user == user.uid
    assert {(near.path / name).stat().st_uid for name in ("flower", "secret", "tls/server.key")} == {user.uid}
    tls = (near.path / "tls").stat()  # stays root's, or a root that lost its powers over files could not enter it
    assert (tls.st_uid, tls.st_gid, tls.st_mode & 0o777) == (0, user.gid, 0o710)
    assert {path.stat().st_uid for path in (tmp_path / "server").rglob("*")} == {0}
    with socket.socket() as listener:
        gate = link.gate(listener, None)
    assert gate.user is None
    assert gate.command[gate.command.index("--user") + 1] == str(user.uid)


def test_an_address_that_is_taken_or_is_none_is_a_sentence() -> None:
    with listening("127.0.0.1", 0) as taken, pytest.raises(BadInput, match=r"cannot listen on .*--listen"):
        listening("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(BadInput, match="cannot listen on"):
        listening("300.0.0.1", 1)

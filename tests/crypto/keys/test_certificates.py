"""TLS with an own authority: a client that trusts it reaches the named server, and no other."""

import socket
import ssl
import stat
from pathlib import Path
from threading import Thread

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys.certificates import CertificateFiles, make_certificates, make_node_key


def handshake(files: CertificateFiles, ca: Path, name: str) -> str | None:
    """The TLS version a client that trusts ``ca`` agrees on with the server when it expects ``name``."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.certificate, files.key)
    client = ssl.create_default_context(cafile=str(ca))
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with server.wrap_socket(theirs, server_side=True):
                pass
        except OSError:
            theirs.close()

    thread = Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=name) as connection:
            return connection.version()
    finally:
        ours.close()
        thread.join()


def test_the_named_server_is_trusted_and_no_other(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    mine = make_certificates(tmp_path / "a", ["study.example.org"])
    foreign = make_certificates(tmp_path / "b", ["study.example.org"])
    assert handshake(mine, mine.ca, "study.example.org") == "TLSv1.3"
    assert handshake(mine, mine.ca, "127.0.0.1") == "TLSv1.3"
    for files, name in ((mine, "other.example.org"), (foreign, "study.example.org")):
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(files, mine.ca, name)


def test_keys_are_private_and_nothing_is_overwritten(tmp_path: Path) -> None:
    files = make_certificates(tmp_path, ["localhost"])
    assert {stat.S_IMODE(path.stat().st_mode) for path in (files.key, files.ca_key)} == {0o600}
    with pytest.raises(KeyRejected, match="not touched"):
        make_certificates(tmp_path, ["localhost"])


def test_node_keys_are_p384_in_the_format_of_openssh(tmp_path: Path) -> None:
    public = make_node_key(tmp_path / "node.key")
    key = serialization.load_ssh_public_key(public.read_bytes())
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp384r1"
    private = serialization.load_ssh_private_key((tmp_path / "node.key").read_bytes(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert private.public_key() == key
    assert stat.S_IMODE((tmp_path / "node.key").stat().st_mode) == 0o600

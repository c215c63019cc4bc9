"""Certificates and node keys for the transport. They keep strangers off the line; no secret of a study rests on them.

An own authority signs the server's certificate, sites are given the authority's certificate, and relays prove who they
are with P-384 keys in OpenSSH's format, as Flower reads them.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sapefl_crypto.keys import safe_file
from sapefl_crypto.secret import Secret

_EARLIER: Final = datetime.timedelta(hours=1)  # clocks differ
_AUTHORITY_NAME: Final = "secure-sapefl study authority"
_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """PEM files; those that end in .key are secret (mode 0600)."""

    ca: Path
    ca_key: Path
    certificate: Path
    key: Path

    @classmethod
    def under(cls, folder: Path) -> "CertificateFiles":
        return cls(
            ca=folder / "ca.pem",
            ca_key=folder / "ca.key",
            certificate=folder / "server.pem",
            key=folder / "server.key",
        )


def make_certificates(folder: Path, hosts: Sequence[str], *, days: int = 825) -> CertificateFiles:
    """A new authority, and a certificate by it for a server reached under any of ``hosts`` (names or addresses); and
    from its own machine, where the programs beside it find it."""
    files, hosts = CertificateFiles.under(folder), tuple(dict.fromkeys((*hosts, _LOOPBACK)))
    ca_key, server_key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    authority = _authority(ca_key, days)
    certificate = _server(server_key, hosts, authority, ca_key, days)
    for path, secret in ((files.ca_key, ca_key), (files.key, server_key)):
        safe_file.write(path, _private(secret, serialization.PrivateFormat.PKCS8), mode=safe_file.PRIVATE)
    for path, public in ((files.ca, authority), (files.certificate, certificate)):
        pem = public.public_bytes(serialization.Encoding.PEM)
        safe_file.write(path, Secret(pem), mode=safe_file.PUBLIC)
    return files


def ends_at(path: Path) -> datetime.datetime:
    """When the certificate in a PEM file ceases to be valid; of several, the first to."""
    found = x509.load_pem_x509_certificates(path.read_bytes())
    return min(one.not_valid_after_utc for one in found)


def make_node_key(path: Path) -> Path:
    """A relay's key in ``path`` (mode 0600); returns where its public half was put, beside it with `.pub`."""
    key = ec.generate_private_key(ec.SECP384R1())
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    safe_file.write(path, _private(key, serialization.PrivateFormat.OpenSSH), mode=safe_file.PRIVATE)
    beside = path.with_name(path.name + ".pub")
    safe_file.write(beside, Secret(public + b"\n"), mode=safe_file.PUBLIC)
    return beside


def _authority(key: ec.EllipticCurvePrivateKey, days: int) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _AUTHORITY_NAME)])
    builder = _builder(name, name, key.public_key(), days)
    usage = _key_usage(sign_certificates=True)
    return (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    hosts: Sequence[str],
    authority: x509.Certificate,
    ca_key: ec.EllipticCurvePrivateKey,
    days: int,
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    builder = _builder(name, authority.subject, key.public_key(), days)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return (
        builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(ca_key, hashes.SHA384())
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    begin = datetime.datetime.now(datetime.UTC) - _EARLIER
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=days))
    )


def _key_usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private(key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> Secret:
    return Secret(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))

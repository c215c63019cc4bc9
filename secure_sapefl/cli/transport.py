"""Options that server and sites share: how the line is protected, and what is told to the outside."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from secure_sapefl.errors import BadInput
from secure_sapefl.plain_text import printable

WithoutTls = Annotated[bool, typer.Option("--without-tls", help="No TLS. Frames stay signed and encrypted.")]
MetricsPort = Annotated[
    int | None,
    typer.Option(help="Prometheus metrics on this port of 127.0.0.1 (0: any).", min=0, max=65535, show_default=False),
]
JsonLogs = Annotated[bool, typer.Option("--json-logs", help="Log JSON lines instead of sentences.")]


def host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadInput(f"{text!r} is not HOST:PORT, for instance 0.0.0.0:9092.")
    return host, int(port)


def warn_of_certificate(status: Mapping[str, Any]) -> None:
    """On stderr, where a status says that a certificate ends soon."""
    from secure_sapefl.transport.expiry import warning

    said = warning(status.get("certificate_ends"))  # 0.1.0 did not say
    if said is not None:
        typer.echo(f"Study {printable(status['study'])}: {said} (docs/operations.md).", err=True)

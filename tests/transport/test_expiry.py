"""Certificates that end: said in time, once a day, in words that name the day."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sapefl_crypto.keys.certificates import ends_at, make_certificates
from secure_sapefl.errors import BadInput
from secure_sapefl.transport.expiry import CertificateWatch, warning
from secure_sapefl.transport.flower import Tls

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (31, None),
        (12, "the certificate ends on 2026-11-30, in 12 days; renew it before"),
        (-1, "the certificate ended on 2026-11-17; nobody gets through until it is renewed"),
    ],
)
def test_a_month_before(days: int, said: str | None) -> None:
    assert warning((NOW + timedelta(days=days)).isoformat(), NOW) == said
    assert warning(None, NOW) is None


def test_the_watch_warns_once_a_day(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files, now = make_certificates(tmp_path, ["127.0.0.1"], days=12), [0.0]
    watch = CertificateWatch(Tls(ca=files.ca, certificate=files.certificate), lambda: now[0])
    assert watch.ends == ends_at(files.ca).isoformat()
    with caplog.at_level(logging.WARNING):
        for at in (0.0, 10.0, 86_399.0, 86_401.0):
            now[0] = at
            watch.look()
    assert [record.message.split(",")[1] for record in caplog.records] == [" in 11 days; renew it before"] * 2


def test_without_tls_nothing_ends_and_what_is_no_certificate_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watch = CertificateWatch(None)
    watch.look()
    assert watch.ends is None
    assert not caplog.records
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(BadInput, match=r"ca\.pem is not a readable certificate"):
        CertificateWatch(Tls(ca=tmp_path / "ca.pem"))

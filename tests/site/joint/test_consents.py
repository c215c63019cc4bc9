"""A site's nonce comes with its owner's consent; see tests/protocol/joint/test_consents.py for what is said of it."""

from pathlib import Path

import pytest

from sapefl_crypto import SiteIdentity
from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.joint.consents import Call, commitment, digest_of, opening
from secure_sapefl.site.joint.consents import SiteNonces

A, B = (SiteIdentity.generate(name) for name in "ab")
ROSTER = {"a": A.public, "b": B.public}


def test_not_every_nonce_is_not_enough(tmp_path: Path) -> None:
    site = SiteNonces(identity=A, study="s", roster=ROSTER, own=b"n" * 32, folder=tmp_path)
    commitments = tuple(commitment(one, "s", b"n" * 32) for one in (A, B))
    shown = opening(A, "s", b"n" * 32, digest_of(commitments))
    for openings in ((shown,), (shown, shown)):
        with pytest.raises(FrameRejected, match="The nonces are not those of all sites"):
            site.answer(Call(commitments=commitments, openings=openings))
    assert site.known == {}
    assert not (tmp_path / "nonces.json").exists()

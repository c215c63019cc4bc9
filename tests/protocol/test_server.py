"""The server's round against sites that are honest, broken or hostile."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sapefl_crypto.errors import AggregateRejected
from sapefl_crypto.frames import Frame
from sapefl_crypto.occasion import Kind, Occasion
from sapefl_crypto.packing import to_chunks
from secure_sapefl.protocol.messages import RoundUpload, SealedModel
from secure_sapefl.protocol.plaintext import pack
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.site import absorb

Bench = Any  # of conftest.py
Crime = Callable[[Bench, str, str], RoundUpload]  # bench, culprit, somebody else


def sealed(bench: Bench, sender: str, **changes: Any) -> SealedModel:
    whole = SealedModel(sender=sender, round_index=bench.round_index, blob=b"x" * 100)
    return replace(whole, **changes)


CRIMES: dict[str, Crime] = {
    "empty": lambda b, me, _: replace(b.upload(me), update=b""),
    "garbage": lambda b, me, _: replace(b.upload(me), update=os.urandom(5000)),
    "truncated": lambda b, me, _: replace(b.upload(me), update=b.upload(me).update[:-1]),
    "padded": lambda b, me, _: replace(b.upload(me), update=b.upload(me).update + bytes(1_000_000)),
    "a larger model": lambda b, me, _: b.upload(me, length=5000),
    "a smaller model": lambda b, me, _: b.upload(me, length=19),
    "no update at all": lambda b, me, _: replace(b.upload(me), update=None),
    "an upload that says another round": lambda b, me, _: replace(b.upload(me), round_index=2),
    "a stale upload": lambda b, me, _: b.upload(me, round_index=2),
    "a stale frame": lambda b, me, _: replace(b.upload(me), update=b.upload(me, round_index=2).update),
    "a frame of the future": lambda b, me, _: replace(b.upload(me), update=b.upload(me, round_index=4).update),
    "another study's frame": lambda b, me, _: b.upload(me, study="t"),
    "another site's frame": lambda b, me, other: replace(b.upload(me), update=b.upload(other).update),
    "a score of 1e9": lambda b, me, _: b.upload(me, score=1e9),
    "a score of -1": lambda b, me, _: b.upload(me, score=-1.0),
    "a score of NaN": lambda b, me, _: b.upload(me, score=math.nan),
    "a score of infinity": lambda b, me, _: b.upload(me, score=math.inf),
    "a score of -infinity": lambda b, me, _: b.upload(me, score=-math.inf),
    "a score above the bound": lambda b, me, _: b.upload(me, score=2.001),
    "an oversized sealed model": lambda b, me, _: replace(
        b.upload(me), theta_personal=sealed(b, me, blob=bytes(4 * 20 + 257))
    ),
    "a sealed model in another's name": lambda b, me, other: replace(b.upload(me), theta_personal=sealed(b, other)),
    "a stale sealed model": lambda b, me, _: replace(b.upload(me), theta_personal=sealed(b, me, round_index=2)),
    "not invited": lambda b, me, _: b.upload(b.uninvited),
    "unheard of": lambda b, me, _: b.upload("mallory"),
}


@pytest.mark.parametrize("crime", CRIMES)
def test_the_round_goes_on_without_the_culprit_and_names_it(bench: Bench, crime: str) -> None:
    culprit, first, second = bench.invited
    server = bench.server()
    bad = CRIMES[crime](bench, culprit, first)

    assert not server.accept(bad)  # first of all, so that nobody else's upload stands in its way
    assert server.accept(bench.upload(first, 0.25))
    assert server.accept(bench.upload(second, 0.75))
    outcome = server.close_round()

    (refusal,) = outcome.refusals
    assert refusal.site == bad.site
    assert "round 3" in refusal.reason.lower()
    assert dict(outcome.weights).keys() == {first, second}
    theta = absorb(torch.zeros(20), outcome, bench.codec, bench.study.name)
    torch.testing.assert_close(theta, torch.full((20,), 0.5), atol=1e-6, rtol=0)
    relayed = {model.sender for invitation in server.open_round(bench.round_index) for model in invitation.models}
    assert relayed == {first, second}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_bytes_get_past_the_server_but_as_a_refusal(bench: Bench, data: st.DataObject) -> None:
    """A frame cut, stretched or overwritten anywhere, and any bytes at all: one refusal, never another error."""
    site, *_ = bench.invited
    whole = bench.upload(site).update
    start = data.draw(st.integers(0, min(len(whole), 120)))
    wild = data.draw(st.one_of(st.binary(max_size=200), st.binary(max_size=16).map(lambda b: whole[:start] + b)))
    values = 4 * bench.study.parameters  # at the end of a plaintext frame; other numbers there make another good frame
    assume(len(wild) != len(whole) or wild[:-values] != whole[:-values])
    server = bench.server()
    assert not server.accept(replace(bench.upload(site), update=wild))
    assert [refusal.site for refusal in server.close_round().refusals] == [site]


def test_a_second_upload_is_refused_and_the_first_one_counts(bench: Bench) -> None:
    site, other, _ = bench.invited
    server = bench.server()
    upload = bench.upload(site, 0.25)
    assert server.accept(upload)
    assert not server.accept(upload)
    assert not server.accept(bench.upload(site, 7.0))
    assert server.accept(bench.upload(other, 0.25))
    outcome = server.close_round()
    assert [refusal.site for refusal in outcome.refusals] == [site, site]
    theta = absorb(torch.zeros(20), outcome, bench.codec, bench.study.name)
    torch.testing.assert_close(theta, torch.full((20,), 0.25), atol=1e-6, rtol=0)


def test_a_refused_site_may_try_again(bench: Bench) -> None:
    site, *_ = bench.invited
    server = bench.server()
    assert not server.accept(replace(bench.upload(site), update=b"broken"))
    assert server.accept(bench.upload(site))
    assert dict(server.close_round().weights).keys() == {site}


def test_scores_weigh_the_mean_of_equation_12(bench: Bench) -> None:
    """Scores 0.5 and 1.5 of updates 1 and 3: (0.5 * 1 + 1.5 * 3) / 2 = 2.5. A score of 0 counts for nothing."""
    first, second, third = bench.invited
    server = bench.server()
    for upload in (
        bench.upload(first, 1.0, score=0.5), bench.upload(second, 3.0, score=1.5), bench.upload(third, 8.0, score=0.0),
    ):  # fmt: skip
        assert server.accept(upload)
    outcome = server.close_round()
    assert dict(outcome.weights).keys() == {first, second}
    theta = absorb(torch.ones(20), outcome, bench.codec, bench.study.name)
    torch.testing.assert_close(theta, torch.full((20,), 3.5), atol=1e-6, rtol=0)


def test_nobody_resembles_anybody(bench: Bench) -> None:
    """All scores 0: the aggregate says so, and the global model stays."""
    server = bench.server()
    for site in bench.invited:
        assert server.accept(bench.upload(site, score=0.0))
    outcome = server.close_round()
    assert outcome.weights == ()
    theta = torch.ones(20)
    assert absorb(theta, outcome, bench.codec, bench.study.name) is theta


def test_nobody_comes(bench: Bench) -> None:
    outcome = bench.server().close_round()
    assert outcome.aggregate is None
    assert outcome.size == 0
    theta = torch.ones(20)
    assert absorb(theta, outcome, bench.codec, bench.study.name) is theta


def test_a_plaintext_server_refuses_what_no_honest_site_sends(bench_of: Callable[[str], Bench]) -> None:
    """The site's own check is no protection against a site without one; here the server can look."""
    bench = bench_of("plaintext")
    site, *_ = bench.invited
    server = bench.server()
    for value in (8.1, math.nan, -math.inf):
        frame = pack(np.full(20, value, np.float32), study="s", round_index=3, sender=site)
        assert not server.accept(replace(bench.upload(site), update=frame))
    assert len(server.close_round().refusals) == 3


def test_an_encrypted_update_beyond_the_bound_spoils_the_round_but_not_in_silence(
    bench_of: Callable[[str], Bench],
) -> None:
    """The server cannot look inside. What overflows the plan breaks the tags, and every site keeps its old model."""
    bench = bench_of("ckks")
    site, other, _ = bench.invited
    key = bench.protection.key
    occasion = Occasion.bound_to(key.params, Kind.WEIGHTED, study="s", round_index=3, length=20)
    frame = Frame(occasion=occasion, nonce=bytes(16), sender=site, payload=b"")
    chunks = to_chunks(np.full(20, 1e7), key.params)
    huge = replace(frame, payload=key.encrypt_chunks(frame, chunks)).to_bytes()
    server = bench.server()
    assert server.accept(replace(bench.upload(site), update=huge))
    assert server.accept(bench.upload(other))
    with pytest.raises(AggregateRejected):
        absorb(torch.zeros(20), server.close_round(), bench.codec, bench.study.name)


def test_models_reach_peers_in_the_next_round_only(bench: Bench) -> None:
    server = bench.server()
    assert all(invitation.models == () for invitation in server.open_round(3))
    for site in bench.invited:
        server.accept(bench.upload(site))
    server.close_round()
    for invitation in server.open_round(3):
        assert set(invitation.peers) == set(bench.invited) - {invitation.site}
        assert [model.sender for model in invitation.models] == list(invitation.peers)


def test_a_server_cannot_spell_decrypt() -> None:
    words = ("decrypt", "encrypt", "seal", "unseal", "key", "secret", "codec")
    assert [name for name in dir(Server) if not name.startswith("__") and any(w in name.lower() for w in words)] == []
    assert [name for name in dir(Server) if "open" in name] == ["open_round"]


def test_a_server_imports_nothing_that_knows_a_key() -> None:
    code = "import sys, secure_sapefl.protocol.server; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for module in ("sapefl_crypto.cohort", "sapefl_crypto.secret", "secure_sapefl.protocol.encrypted", "torch"):
        assert module not in loaded

"""Bytes of joint rounds written by an earlier version must keep their meaning (../vectors/make_joint.py)."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sapefl_crypto import (
    Certificate,
    Committee,
    JointAggregate,
    JointAggregator,
    JointPlan,
    JointRound,
    Parameters,
    SealingKey,
    SitePublicKeys,
    TagRoot,
    open_mean,
)  # fmt: skip
from sapefl_crypto.joint.field import uniform
from sapefl_crypto.joint.round_key import share_context
from sapefl_crypto.secret import Secret

VECTORS = Path(__file__).parent.parent / "vectors" / "joint"


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    return json.loads((VECTORS / "known.json").read_text())


@pytest.fixture(scope="module")
def about(known: dict[str, Any]) -> JointRound:
    sites = map(SitePublicKeys.from_text, known["sites"])
    return JointRound(
        plan=Parameters.joint(max_clients=4), committee=Committee(members=("a", "b", "c"), threshold=2, tolerated=1),
        roster={site.name: site for site in sites}, study="known answers", round_index=7, length=5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def sealing_of_a(known: dict[str, Any]) -> SealingKey:
    key, private = SealingKey(), X25519PrivateKey.from_private_bytes(bytes.fromhex(known["sealing_of_a"]))
    key._private, key.public = private, private.public_key().public_bytes_raw()  # type: ignore[misc]
    return key


@pytest.fixture(scope="module")
def aggregate(about: JointRound) -> JointAggregate:
    aggregator = JointAggregator(about)
    for name in ("c", "a", "b"):
        aggregator.add((VECTORS / f"{name}.frame").read_bytes())
    return aggregator.finish()


def test_plan_occasion_and_streams_are_what_they_were(about: JointRound, known: dict[str, Any]) -> None:
    assert JointPlan.from_bytes(bytes.fromhex(known["plan"])) == about.plan
    assert about.plan.digest.hex() == known["plan_digest"]
    assert about.occasion.to_bytes().hex() == known["occasion"]
    assert uniform(about.occasion.public_seed, 0, 4).tolist() == known["first_public_numbers"]
    assert uniform(Secret(bytes(32)), 1, 4).tolist() == known["stream_of_zero_key"]


def test_stored_frames_still_add_up_to_the_same_bytes(aggregate: JointAggregate, known: dict[str, Any]) -> None:
    assert aggregate.claimed.digest.hex() == known["claim_digest"]
    assert hashlib.sha256(aggregate.to_bytes()).hexdigest() == (VECTORS / "sum.sha256").read_text().strip()


def test_stored_answers_still_open_the_sum(
    about: JointRound, aggregate: JointAggregate, sealing_of_a: SealingKey, known: dict[str, Any]
) -> None:
    opened = open_mean(
        about, aggregate, Certificate.from_bytes(bytes.fromhex(known["certificate"])),
        [(VECTORS / f"{name}.answer").read_bytes() for name in ("a", "c")],
        reader="a", sealing=sealing_of_a, root=TagRoot.from_secret(bytes.fromhex(known["root"])),
    )  # fmt: skip
    on_grid = about.plan.on_grid(np.array([1e-3, -2e-3], np.float32).astype(np.float64))
    by_hand = [-10 / 72, -24 / 72, 74 / 72, -32 / 72, (32 * on_grid[0] + 24 * on_grid[1]) / 72]  # weights 16, 32, 24
    assert opened.complaints == ()
    assert np.array_equal(opened.mean, np.array(by_hand, np.float32))


def test_stored_shares_still_open(about: JointRound, sealing_of_a: SealingKey, known: dict[str, Any]) -> None:
    for sender, share in known["shares_for_a"].items():
        plain = sealing_of_a.unseal(bytes.fromhex(share), context=share_context(about, sender, "a"))
        assert len(plain) == 32, "a is below the threshold: its share is a seed"

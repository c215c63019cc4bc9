"""Writes the known answers for joint keys into joint/ beside this file. Run it only when the format changes on purpose:

    python tests/crypto/vectors/make_joint.py

Keys, errors and sealing are random, so a round cannot be repeated. Everything after that can: stored frames add up to
one exact sum, stored answers open it to one vector. All keys here were made for these files and protect nothing.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from sapefl_crypto import Committee, JointAggregator, JointRound, Member, Parameters, SealingKey, SiteIdentity, TagRoot
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.field import uniform
from sapefl_crypto.joint.frames import signed_part
from sapefl_crypto.joint.member import MemoryLedger
from sapefl_crypto.joint.round_key import RoundKey
from sapefl_crypto.secret import Secret

HERE = Path(__file__).parent / "joint"
VECTORS = {"a": [1.0, -2.5, 0.125, 8.0, 0.0], "b": [-1.0, 0.5, 3.0, -8.0, 1e-3], "c": [0.25, 0.0, -1.0, 4.0, -2e-3]}
SCORES = {"a": 0.5, "b": 1.0, "c": 0.75}


def main() -> None:
    HERE.mkdir(exist_ok=True)
    identities = {name: SiteIdentity.generate(name) for name in VECTORS}
    sealing = {name: SealingKey() for name in VECTORS}
    about, root = round_of({name: identity.public for name, identity in identities.items()}), TagRoot.generate()
    members = {
        name: Member(about, identity=identities[name], sealing=sealing[name], ledger=MemoryLedger()) for name in VECTORS
    }
    aggregator, shares = JointAggregator(about), {}
    for name, values in VECTORS.items():
        key = RoundKey(about, sender=name, members={name: key.public for name, key in sealing.items()})
        upload = key.encrypt(
            np.array(values, np.float32), score=SCORES[name], root=root, identity=identities[name],
            sealing=sealing[name].public,
        )  # fmt: skip
        (HERE / f"{name}.frame").write_bytes(upload.frame)
        shares[name] = upload.shares["a"].hex()
        aggregator.add(upload.frame)
        for member in VECTORS:
            members[member].receive(signed_part(upload.frame), upload.shares[member])
    aggregate = aggregator.finish()
    signatures = {name: member.endorse(aggregate.claimed) for name, member in members.items()}
    certificate = Certificate(digest=aggregate.claimed.digest, signatures=signatures)
    for name in ("a", "c"):
        (HERE / f"{name}.answer").write_bytes(members[name].answer(aggregate.claimed, certificate))
    known = {
        "sites": [identity.public.to_text() for identity in identities.values()],
        "root": root.export_secret().hex(),
        "sealing_of_a": private_of(sealing["a"]).hex(),
        "shares_for_a": shares,
        "plan": about.plan.to_bytes().hex(),
        "plan_digest": about.plan.digest.hex(),
        "occasion": about.occasion.to_bytes().hex(),
        "first_public_numbers": uniform(about.occasion.public_seed, 0, 4).tolist(),
        "stream_of_zero_key": uniform(Secret(bytes(32)), 1, 4).tolist(),
        "certificate": certificate.to_bytes().hex(),
        "claim_digest": aggregate.claimed.digest.hex(),
    }
    (HERE / "known.json").write_text(json.dumps(known, indent=2) + "\n")
    (HERE / "sum.sha256").write_text(digest_of(aggregate.to_bytes()) + "\n")


def round_of(roster: dict) -> JointRound:  # type: ignore[type-arg]
    return JointRound(
        plan=Parameters.joint(max_clients=4), committee=Committee(members=("a", "b", "c"), threshold=2, tolerated=1),
        roster=roster, study="known answers", round_index=7, length=5,
    )  # fmt: skip


def private_of(key: SealingKey) -> bytes:
    assert key._private is not None  # a vector shows what a key never gives away
    return key._private.private_bytes_raw()  # as above


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main()

"""The server adds in numpy what SEAL's evaluator would have added, and trees of servers add up to the same bytes."""

import ast
import struct
from pathlib import Path

import numpy as np
import pytest
import tenseal.sealapi as sealapi

import sapefl_crypto
from sapefl_crypto import FrameRejected, Parameters
from sapefl_crypto.joint.aggregator import JointAggregator, LimbSum
from sapefl_crypto.joint.field import PRIME, RING_DEGREE, centred
from sapefl_crypto.joint.frames import parse_frame
from sapefl_crypto.joint.opening import mean_under
from sapefl_crypto.joint.recombining import SumKey
from sapefl_crypto.joint.ring import public_polynomials
from sapefl_crypto.packing import pack, unpack
from sapefl_crypto.seal import array_header, ring_of, saved
from sapefl_crypto.secret_ring import _load_secret  # SEAL itself opens what our own code adds

LENGTH = 4088 + 60
RING = ring_of(RING_DEGREE, 1.0)
EVALUATOR = sealapi.Evaluator(RING.context)


@pytest.fixture
def cohort(make_cohort):
    cohort = make_cohort(4, length=LENGTH)
    vectors = np.random.default_rng(1).normal(0, 0.02, (4, LENGTH)).astype(np.float32)
    cohort.send(vectors, [0.2, 1.0, 0.7, 0.9])
    return cohort


def as_seal_ciphertexts(attacker, cohort, payload: bytes | memoryview) -> list:
    """(c0, a) of every chunk as CKKS ciphertexts of SEAL's, in the form that its evaluator and decryptor want."""
    ciphers = []
    for chunk in range(cohort.about.chunks):
        c0 = unpack(payload[chunk * 30720 : (chunk + 1) * 30720])
        a = attacker.from_ntt(public_polynomials(cohort.about.occasion.public_seed, chunk, 1)[0])
        ciphers.append(attacker.load(np.stack((c0, a)), ntt_form=0))
        EVALUATOR.transform_to_ntt_inplace(ciphers[-1])
    return ciphers


def test_seals_evaluator_weighs_and_adds_joint_frames_to_the_same_bytes(cohort, attacker) -> None:
    totals: list = []
    for upload in cohort.uploads.values():
        frame = parse_frame(upload.frame, cohort.about)
        ciphers = as_seal_ciphertexts(attacker, cohort, frame.payload)
        for cipher in ciphers:
            RING.weigh(cipher, RING.weight(frame.manifest.weight))
        if totals:
            for total, cipher in zip(totals, ciphers, strict=True):
                RING.add(total, cipher)
        else:
            totals = ciphers
    for total in totals:
        EVALUATOR.transform_from_ntt_inplace(total)
    by_seal = b"".join(pack(RING.save_sum(total)[:RING_DEGREE]) for total in totals)
    assert by_seal == cohort.aggregate().payload


def test_seals_decryptor_opens_a_joint_sum_under_the_sum_of_keys(cohort, attacker) -> None:
    """Same ring, context and decryptor as any CKKS ciphertext of this package; the values are in coefficients."""
    aggregate, key = cohort.aggregate(), SumKey(numbers=attacker.opened_key(cohort, "a"))
    decryptor = sealapi.Decryptor(RING.context, _load_secret(RING, key.numbers))
    plain, read = sealapi.Plaintext(), []
    for cipher in as_seal_ciphertexts(attacker, cohort, aggregate.payload):
        decryptor.decrypt(cipher, plain)
        read.append(attacker.from_ntt(polynomial(plain))[: cohort.about.plan.data_slots])
    sums = centred(np.concatenate(read)[:LENGTH])
    plan, total = cohort.about.plan, aggregate.claimed.claim.total
    whole = np.floor(sums / 2.0**plan.step_bits + 0.5)
    ours = mean_under(cohort.about, aggregate, key, cohort.root)
    assert np.array_equal((whole * 2.0**-plan.grid_bits / total).astype(np.float32), ours)


def polynomial(plain) -> np.ndarray:
    start = len(struct.pack("<4QQd", *RING.parms_id, RING_DEGREE, 1.0) + array_header(0))
    return RING.numbers(saved(plain.save), RING_DEGREE, start)


def test_limbs_hold_the_heaviest_sums_there_can_be() -> None:
    """2^20 frames of weight 32 whose numbers are all q - 1, folded as the few heavy frames they amount to."""
    payload, total = pack(np.full(RING_DEGREE, PRIME - 1, np.uint64)), LimbSum(1)
    for _ in range(2**5):
        total.fold(payload, 2**20)
    assert unpack(total.payload()).tolist() == [-(2**25) % PRIME] * RING_DEGREE


def test_a_tree_of_servers_adds_up_to_the_same_bytes(cohort) -> None:
    whole = cohort.aggregate().to_bytes()
    for first, second in (("ab", "cd"), ("a", "bcd"), ("db", "ac")):
        top = JointAggregator(cohort.about)
        for region in (first, second):
            top.add_partial(cohort.aggregate(list(region)))
        assert top.finish().to_bytes() == whole
    mixed = JointAggregator(cohort.about)
    mixed.add(cohort.uploads["c"].frame)
    mixed.add_partial(cohort.aggregate(["a", "b", "d"]))
    assert mixed.finish().to_bytes() == whole


def test_a_tree_counts_nobody_twice(cohort) -> None:
    top = JointAggregator(cohort.about)
    top.add_partial(cohort.aggregate(["a", "b"]))
    with pytest.raises(FrameRejected, match=r"'b'.*counts once"):
        top.add_partial(cohort.aggregate(["b", "c"]))
    with pytest.raises(FrameRejected, match=r"'a'.*counts once"):
        top.add(cohort.uploads["a"].frame)


def test_an_empty_part_and_a_zero_weight_change_nothing(make_cohort, vectors) -> None:
    cohort = make_cohort(4)
    cohort.send(vectors, [0.5, 0.0, 0.7, 0.9])
    top = JointAggregator(cohort.about)
    top.add_partial(JointAggregator(cohort.about).finish())
    top.add_partial(cohort.aggregate())
    aggregate = top.finish()
    assert aggregate == cohort.aggregate(["a", "c", "d"])
    assert [part.sender for part in aggregate.claimed.claim] == ["a", "c", "d"]
    assert JointAggregator(cohort.about).finish().unchanged


def test_more_senders_than_planned_are_refused(make_cohort, vectors) -> None:
    cohort = make_cohort(4, plan=Parameters.joint(max_clients=3))
    cohort.send(vectors[:3], [0.5, 0.5, 0.5])
    cohort.uploads["d"] = cohort.upload("d", vectors[3], 0.5)
    with pytest.raises(FrameRejected, match="holds 3 clients"):
        cohort.aggregate()


def test_the_server_imports_nothing_that_makes_shares_or_opens_a_sum() -> None:
    folder, seen, waiting = Path(sapefl_crypto.__file__).parent, set(), ["joint.aggregator"]
    while waiting:
        name = waiting.pop()
        path = folder / f"{name.replace('.', '/')}.py"
        if name not in seen and path.exists():
            seen.add(name)
            nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
            waiting += [(node.module or "").removeprefix("sapefl_crypto.") for node in nodes]
    holds_keys = {
        "cohort", "secret_ring", "joint.round_key", "joint.shamir", "joint.tags", "joint.ring", "joint.sealing",
        "joint.member", "joint.opening", "joint.recombining",
    }  # fmt: skip
    assert {"joint.frames", "joint.occasion", "joint.field"} <= seen
    assert not seen & holds_keys

import numpy as np
import pytest

from sapefl_crypto import Parameters, ValueRejected
from sapefl_crypto.bench_report import Costs
from sapefl_crypto.joint import bench_tree
from sapefl_crypto.joint.bench import JointWay, run
from sapefl_crypto.joint.bench_report import Leg, joint_targets

VECTORS = np.random.default_rng(0).normal(0, 0.02, (4, 5000)).astype(np.float32)
SCORES = np.array([0.4, 0.5, 0.9, 1.0])


def test_the_measured_way_computes_the_weighted_mean() -> None:
    way = JointWay(VECTORS, SCORES)
    for client in range(4):
        way.prepare(client)
        way.add(way.encrypt(client), client)
    mean = way.decrypt(way.finish())
    assert mean == pytest.approx(way.exact(), abs=1e-8)
    assert mean == pytest.approx(np.average(VECTORS.astype(np.float64), axis=0, weights=SCORES), abs=5e-3)
    assert (way.leg().members, way.leg().threshold) == (4, 3)
    assert way.leg().share_bytes_up == 2 * (30735 + 48) + 2 * 80


def test_a_tree_of_servers_reports_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_tree, "A_REGION", 20)
    tree = bench_tree._climb(50)  # one step of the benchmark alone
    assert (tree.frames, tree.regions) == (50, 3)
    assert tree.claim_bytes == 109 + 50 * 21 + 10 + 2 * 40
    assert tree.plan == str(Parameters.joint(max_clients=50, weight_bits=0))


def test_too_little_to_measure_is_refused() -> None:
    with pytest.raises(ValueRejected, match="3 clients"):
        run(10, 2, 1, lambda _: None)


def test_targets_are_met_or_not_by_their_own_numbers() -> None:
    ours = costs()
    shared = costs(encrypt_seconds=2.5, aggregate_seconds_per_client=6)
    ordinary = costs(encrypt_seconds=15, aggregate_seconds_per_client=40)
    assert all(target.met for target in joint_targets(ours, shared, ordinary, leg(190_000), {"5": 50.0, "50": 60.0}))
    missed = joint_targets(ours, ours, ordinary, leg(190_001), {"5": 50.0, "50": 61.0})
    assert [target.name for target in missed if not target.met] == [
        "times faster encryption than shared keys", "times faster adding than shared keys", "bytes of shares up",
        "MB of server memory from the fewest to the most clients",
    ]  # fmt: skip


def costs(**changed: float) -> Costs:
    usual = dict.fromkeys(("encrypt_seconds", "aggregate_seconds_per_client", "decrypt_seconds", "max_error"), 1.0)
    sizes = dict.fromkeys(("upload_bytes_per_parameter", "download_bytes_per_parameter"), 7.6)
    return Costs(**{**usual, **sizes, **changed})


def leg(share_bytes: int) -> Leg:
    return Leg(
        members=14, threshold=10, tolerated=1, share_bytes_up=share_bytes, share_bytes_a_member=1, manifest_bytes=1,
        answer_bytes=1, certificate_bytes=1, receive_seconds=0.0, endorse_seconds=0.0, answer_seconds=0.0,
    )  # fmt: skip

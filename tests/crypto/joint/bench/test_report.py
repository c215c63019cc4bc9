"""Targets are met or not by their own numbers."""

from sapefl_crypto.bench_report import Costs
from sapefl_crypto.joint.bench.report import Leg, joint_targets


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

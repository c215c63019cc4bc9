"""What the benchmark of joint keys found, and what it was meant to reach."""

from dataclasses import dataclass

from sapefl_crypto.bench_report import Costs, Target, at_least, at_most, ratios

SHARE_BYTES_ALLOWED = 190_000
MEMORY_SLACK_MB = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """The committee's part of one round. Seconds are one member's, for all senders together."""

    members: int
    threshold: int
    tolerated: int
    share_bytes_up: int
    share_bytes_a_member: int
    manifest_bytes: int
    answer_bytes: int
    certificate_bytes: int
    receive_seconds: float
    endorse_seconds: float
    answer_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Small frames of weight 1 through regional servers to one above them."""

    frames: int
    regions: int
    plan: str
    seconds: float
    seconds_top: float
    claim_bytes: int
    partial_bytes: int
    peak_memory_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JointReport:
    parameters: int
    clients: int
    plan: str
    joint: Costs
    shared: Costs
    ordinary: Costs
    ratios_to_shared: dict[str, float]
    ratios_to_ordinary: dict[str, float]
    before_update_seconds: float
    leg: Leg
    peak_memory_mb: dict[str, float]
    tree: Tree
    targets: tuple[Target, ...]


def joint_targets(
    joint: Costs, shared: Costs, ordinary: Costs, leg: Leg, memory: dict[str, float]
) -> tuple[Target, ...]:
    few, many = memory.values()
    to_shared, to_ordinary = ratios(joint, shared), ratios(joint, ordinary)
    return (
        at_least("times faster encryption than shared keys", to_shared["encrypt_seconds"], 2.5),
        at_least("times faster encryption than ordinary TenSEAL", to_ordinary["encrypt_seconds"], 15),
        at_least("times faster adding than shared keys", to_shared["aggregate_seconds_per_client"], 6),
        at_least("times faster adding than ordinary TenSEAL", to_ordinary["aggregate_seconds_per_client"], 40),
        at_least("times faster decryption than shared keys", to_shared["decrypt_seconds"], 1),
        at_most("upload bytes per parameter", joint.upload_bytes_per_parameter, 7.6),
        at_most("download bytes per parameter", joint.download_bytes_per_parameter, 7.6),
        at_most("bytes of shares up", leg.share_bytes_up, SHARE_BYTES_ALLOWED),
        at_most("MB of server memory from the fewest to the most clients", many - few, MEMORY_SLACK_MB),
    )

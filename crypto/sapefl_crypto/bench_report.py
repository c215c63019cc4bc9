"""What the benchmark found, and what it was meant to reach."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """CPU seconds and bytes for one vector; the error is against the exact mean with the weights that were used."""

    encrypt_seconds: float
    upload_bytes_per_parameter: float
    aggregate_seconds_per_client: float
    decrypt_seconds: float
    download_bytes_per_parameter: float
    max_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Wall-clock seconds for a vector while ``workers`` processes encrypt one each."""

    workers: int
    encrypt_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    value: float
    goal: str
    met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    parameters: int
    clients: int
    security_bits: int
    promised_error: float
    ours: Costs
    naive: Costs
    ratios: dict[str, float]
    peak_memory_mb: dict[str, float]
    share_error: float
    scaling: tuple[Scaling, ...]
    targets: tuple[Target, ...]


def ratios(ours: Costs, naive: Costs) -> dict[str, float]:
    """How many times less this recipe costs."""
    mine = asdict(ours)
    return {name: cost / mine[name] for name, cost in asdict(naive).items() if name != "max_error"}


def targets(ours: Costs, naive: Costs, clients: int, share_error: float) -> tuple[Target, ...]:
    times = ratios(ours, naive)
    return (
        at_most("upload bytes per parameter", ours.upload_bytes_per_parameter, 8.1),
        at_most("download bytes per parameter", ours.download_bytes_per_parameter, 16.1),
        at_least("times fewer upload bytes", times["upload_bytes_per_parameter"], 10),
        at_least("times faster encryption", times["encrypt_seconds"], 6),
        at_least("times faster aggregation", times["aggregate_seconds_per_client"], 6),
        at_least("times faster decryption", times["decrypt_seconds"], 3),
        at_most("maximum error", ours.max_error, 1e-8 if clients <= 10 else 1e-7),
        at_most("relative error of a share", share_error, 2e-3),
    )


def at_most(name: str, value: float, limit: float) -> Target:
    return Target(name=name, value=value, goal=f"≤ {limit:g}", met=value <= limit)


def at_least(name: str, value: float, limit: float) -> Target:
    return Target(name=name, value=value, goal=f"≥ {limit:g}", met=value >= limit)

"""Seconds and bytes of a run, phase by phase."""

from dataclasses import dataclass

from secure_sapefl.report.run import Run
from secure_sapefl.stopwatch import PHASES

_WHAT = {
    "local": "training from the global model",
    "similarity": "comparing with peers",
    "personal": "training the own model",
    "encrypt": "encrypting, sealing and sending",
    "aggregate": "weighing and adding at the server",
    "decrypt": "receiving, opening and checking",
    "evaluate": "testing all models",
    "other": "between the phases",
}
_IN_THE_CLEAR = {"encrypt": "packing and sending", "decrypt": "receiving and unpacking"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    name: str
    what: str
    seconds: float
    share: float
    sent: float  # bytes of a site in a round, on average
    received: float


def phases(run: Run) -> tuple[PhaseRow, ...]:
    spent = seconds_by_phase(run)
    total = sum(spent.values())
    words = _WHAT | (_IN_THE_CLEAR if run.summary["protection"] == "plaintext" else {})
    counted = run.summary["bytes"]
    return tuple(
        PhaseRow(
            name=phase,
            what=words[phase],
            seconds=seconds,
            share=seconds / total if total else 0.0,
            sent=counted["up_per_client_round"] if phase == "encrypt" else 0.0,
            received=counted["down_per_client_round"] if phase == "decrypt" else 0.0,
        )
        for phase, seconds in spent.items()
    )


def seconds_by_phase(run: Run) -> dict[str, float]:
    """The phases that took any time, and what lies between them."""
    spent = {phase: sum(record.seconds[phase] for record in run.rounds) for phase in PHASES}
    rest = sum(record.total_seconds for record in run.rounds) - sum(spent.values())
    return {phase: value for phase, value in spent.items() if value > 0} | {"other": max(rest, 0.0)}

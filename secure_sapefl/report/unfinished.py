"""A simulation that is still going on, as its events tell it: what `run.py` is for one that has ended."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from secure_sapefl.config import Config
from secure_sapefl.engine.events import RoundClosed, RunBegun, RunEnded, RunEvent
from secure_sapefl.engine.result import Result
from secure_sapefl.plain_text import printable
from secure_sapefl.report.run import Run
from secure_sapefl.report.spending import replay


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSoFar:
    """How far a run has come. Frozen, so that a page may be drawn in one thread while the run goes on in another."""

    config: Config
    result: Result
    over: bool = False

    def after(self, event: RunEvent) -> "RunSoFar":
        match event:
            case RoundClosed(record=record, similarity_matrix=matrix):
                rounds = (*self.result.rounds, record)
                return replace(self, result=replace(self.result, rounds=rounds, similarity_matrix=matrix))
            case RunEnded(result=result):
                return replace(self, result=result, over=True)
        return self

    def run(self, label: str) -> Run | None:
        """The run as far as it has come; None before models were evaluated for the first time."""
        result = self.result if self.over else self._so_far()
        if not any(record.personal.evaluated for record in result.rounds):
            return None
        return Run(label=printable(label), config=self.config, summary=result.summary(), rounds=result.rounds)

    def _so_far(self) -> Result:
        facts = {**self.result.facts, "rounds": len(self.result.rounds)}
        return replace(self.result, facts=facts, privacy=self._spent())

    def _spent(self) -> Mapping[str, Any] | None:
        config, facts = self.config, self.result.facts
        if config.dp_ledgers is not None:  # others may have spent from them too; only the run itself may open them
            note = "What the sites' ledgers hold is counted at the end of the run."
            return {"epsilon_budget": config.dp_epsilon, "delta": config.dp_delta, "notes": [note]}
        rows = dict(zip(facts["client_names"], facts["client_rows"], strict=True))
        privacy = replay(config, rows, len(self.result.rounds))
        return None if privacy is None else privacy.summary()


def follow(progress: RunSoFar | None, event: RunEvent) -> RunSoFar | None:
    """None until the run has begun."""
    if isinstance(event, RunBegun):
        return RunSoFar(config=event.config, result=event.so_far)
    return None if progress is None else progress.after(event)

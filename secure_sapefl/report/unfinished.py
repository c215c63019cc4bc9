"""A simulation that is still going on, read from the folder it writes: what `run.py` is for one that has ended."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.engine.device import resolve_device
from secure_sapefl.engine.late import divided
from secure_sapefl.engine.result import Result, RoundRecord, versions
from secure_sapefl.engine.similarity_log import SimilarityLog
from secure_sapefl.models import build_model
from secure_sapefl.plain_text import printable
from secure_sapefl.report.run import Run
from secure_sapefl.report.spending import replay
from secure_sapefl.storage import json_lines

Facts = Mapping[str, Any]


def facts_of(config: Config, federation: Federation) -> Facts:
    """What is known of a run before its first round and stands in no file of its folder until the last."""
    federation, _ = divided(federation, config.late_clients)
    return {
        "method": config.method,
        "dataset": config.dataset,
        "source": federation.source,
        "partition": federation.partition,
        "preparation": federation.preparation,
        "clients": len(federation.clients),
        "client_names": [client.name for client in federation.clients],
        "client_rows": [len(client.train) for client in federation.clients],
        "seed": config.seed,
        "protection": config.protection,
        "device": str(resolve_device(config.device)),
        "versions": versions(),
        "parameters": build_model(federation.shape, federation.classes, config.model).parameters,
    }


def load_unfinished(folder: Path, facts: Facts) -> Run | None:
    """The run as far as it has come; None before models were evaluated for the first time."""
    rounds = folder / "rounds.jsonl"
    records = tuple(map(RoundRecord.from_json, json_lines.read(rounds))) if rounds.exists() else ()
    if not any(record.personal.accuracy.per_client for record in records):
        return None
    config = Config.load(folder / "config.toml")
    result = Result(
        facts={**facts, "rounds": len(records)},
        parameters=facts["parameters"],
        rounds=records,
        similarity_matrix=_similarity(folder / "checkpoint" / "state.pt", len(facts["client_names"])),
        privacy=_spent(config, facts, len(records)),
    )
    return Run(label=printable(folder.resolve().name), config=config, summary=result.summary(), rounds=records)


def _similarity(checkpoint: Path, sites: int) -> list[list[float | None]]:
    """Out of the checkpoint, mapped into memory: the models beside it are not read."""
    log = SimilarityLog(sites)
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True, mmap=True)
        log.matrix = saved["tensors"]["similarity"].numpy()
    return log.to_json()


def _spent(config: Config, facts: Facts, rounds: int) -> Mapping[str, Any] | None:
    if config.dp_ledgers is not None:  # others may have spent from them too; only the run itself may open them
        note = "What the sites' ledgers hold is counted at the end of the run."
        return {"epsilon_budget": config.dp_epsilon, "delta": config.dp_delta, "notes": [note]}
    privacy = replay(config, dict(zip(facts["client_names"], facts["client_rows"], strict=True)), rounds)
    return None if privacy is None else privacy.summary()

"""The folder of a run. Files appear whole or not at all, so a run killed at any moment can be continued.

lock           held by the process that runs it
config.toml    complete; `--config` with it gives the same run
identity.json  digests of the rows and of their division, settings and version: a run goes on with what it began with
rounds.jsonl   a line a round, flushed as it happens
checkpoint/    what is needed to go on after the last whole round
models.safetensors, summary.json   at the end: every site's model as it was scored, and the numbers
"""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, BinaryIO, Self

import torch
from torch import Tensor

from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import build_of
from secure_sapefl.engine.identity import Identity
from secure_sapefl.engine.result import Result, RoundRecord
from secure_sapefl.engine.scored import MODELS, ScoredModels
from secure_sapefl.engine.stopping import BestRound
from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description, Model
from secure_sapefl.protocol.blueprint import started
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.storage import files, json_lines
from secure_sapefl.storage.chain import Head
from secure_sapefl.storage.files import remove_unfinished, replacing, write_whole
from secure_sapefl.storage.lock import Lock

_DAMAGE = (OSError, RuntimeError, EOFError, UnpicklingError, ValueError, KeyError, TypeError)  # as readers report it
_LOCK, _CONFIG, IDENTITY, _ROUNDS = "lock", "config.toml", "identity.json", "rounds.jsonl"
_CHECKPOINT = "checkpoint/state.pt"


class RunFolder:
    """``with RunFolder.create(...) as folder``: a run's folder, written by this process alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rounds = path / _ROUNDS
        self._checkpoint = path / _CHECKPOINT
        self._ledgers = path / "checkpoint" / "ledgers.json"
        self._best = path / "checkpoint" / "best.pt"
        self._lock = Lock(path / _LOCK, f"The run in {path}", "Wait until it ends, or choose another --out.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    @classmethod
    def create(cls, path: Path, config: Config, identity: Identity) -> "RunFolder":
        """A folder for a new run; one that holds anything already is left alone."""
        _check_unused(path)
        with writing(path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)  # models of every site are going to lie there
        folder = cls(path)
        try:
            _check_unused(path)  # once more: who held the lock until now may have been here
            with writing(path):
                write_whole(path / IDENTITY, identity.to_bytes())
                write_whole(path / _CONFIG, config.to_toml().encode())
        except BaseException:
            folder._lock.close()  # of this class
            raise
        return folder

    @classmethod
    def reopen(cls, path: Path) -> "RunFolder":
        """The folder of a run that was begun by this version."""
        _config_file(path)
        identity_of(path).check_version(path)
        return cls(path)

    def save_round(self, record: RoundRecord, tensors: Mapping[str, Tensor]) -> None:
        """First the line, then the checkpoint: what a crash leaves between the two is cut off by `load`."""
        with writing(self.path):
            json_lines.append(self._rounds, record.to_json())
        self.save_tensors(record.round_index, tensors)

    def save_tensors(self, round_index: int, tensors: Mapping[str, Tensor]) -> None:
        """What sites hold after a round whose line is written, or what they go back to."""
        with writing(self.path):
            self._checkpoint.parent.mkdir(exist_ok=True)
            with replacing(self._checkpoint) as file:
                _save({"round": round_index, "tensors": dict(tensors)}, file)

    def save_best(self, best: BestRound) -> None:
        """Of the round that is best on validation rows so far; before its line, so that none is without it."""
        with writing(self.path):
            self._best.parent.mkdir(exist_ok=True)
            with replacing(self._best) as file:
                _save({"tensors": dict(best.tensors), "scored": dict(best.scored)}, file)

    def best(self) -> BestRound | None:
        if not self._best.exists():
            return None
        try:
            return BestRound(**torch.load(self._best, weights_only=True))
        except _DAMAGE as error:
            raise _damaged(self.path, f"{type(error).__name__} while reading {self._best.name}") from None

    def load(self) -> tuple[list[RoundRecord], dict[str, Tensor]]:
        """Records and tensors after the last round that was saved whole; later lines are removed."""
        if not self._checkpoint.exists():
            self._rounds.unlink(missing_ok=True)
            return [], {}
        records, tensors = saved_state(self.path)
        with writing(self.path):
            json_lines.cut(self._rounds, len(records))
            remove_unfinished(self._checkpoint)
        return records, tensors

    def save_ledger_heads(self, heads: Mapping[SiteId, Head]) -> None:
        """How far the privacy ledgers go that the run pays into: they lie elsewhere, and may be put back."""
        if heads:
            content = {site: asdict(head) for site, head in heads.items()}
            with writing(self.path):
                self._ledgers.parent.mkdir(exist_ok=True)
                write_whole(self._ledgers, json.dumps(content).encode())

    def ledger_heads(self) -> dict[SiteId, Head]:
        try:
            content = json.loads(self._ledgers.read_bytes()) if self._ledgers.exists() else {}
            return {site: Head(**head) for site, head in content.items()}
        except _DAMAGE as error:
            raise _damaged(self.path, f"{type(error).__name__} while reading {self._ledgers.name}") from None

    def late_clients(self) -> dict[str, Any] | None:
        """How late sites did, where the run has got so far: they join once, and would have to pay again."""
        return summary_of(self.path).get("late_clients") if (self.path / "summary.json").is_file() else None

    def models(self, model: Model) -> dict[SiteId, Tensor]:
        """What sites used when they were scored, where the run has got so far."""
        file = self.path / MODELS
        return dict(ScoredModels.read(file, lambda *_: model).thetas) if file.is_file() else {}

    def finish(self, result: Result) -> None:
        with writing(self.path):
            if result.models is not None:
                write_whole(self.path / MODELS, result.models.to_bytes())
            write_whole(self.path / "summary.json", json.dumps(result.summary(), indent=1).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """All that a run left behind that was stopped, or has ended."""

    ledger_heads: Mapping[SiteId, Head]
    records: list[RoundRecord]
    tensors: dict[str, Tensor]
    late_clients: Mapping[str, Any] | None
    models: Mapping[SiteId, Tensor]
    best: BestRound | None


def saved_in(folder: RunFolder, model: Model) -> Saved:
    records, tensors = folder.load()
    return Saved(
        ledger_heads=folder.ledger_heads(),
        records=records,
        tensors=tensors,
        late_clients=folder.late_clients(),
        models=folder.models(model),
        best=folder.best(),
    )


def config_of(path: Path) -> Config:
    """The configuration a run was begun with."""
    return Config.load(_config_file(path))


def _config_file(path: Path) -> Path:
    config = path / _CONFIG
    if not config.is_file():
        raise BadInput(f"{path} is not the folder of a run: it has no {_CONFIG}. Start one with --out {path}.")
    return config


def identity_of(path: Path) -> Identity:
    """What a run was begun with."""
    return Identity.read(path / IDENTITY, path)


def saved_state(path: Path) -> tuple[list[RoundRecord], dict[str, Tensor]]:
    """Records and tensors after the last round that was saved whole; nothing is changed."""
    try:
        saved = torch.load(path / _CHECKPOINT, weights_only=True)
        kept = saved["round"] + 1
        records = [RoundRecord.from_json(line) for line in islice(json_lines.read(path / _ROUNDS), kept)]
    except _DAMAGE as error:
        raise _damaged(path, f"{type(error).__name__} while reading it") from None
    if len(records) != kept:
        raise _damaged(path, f"{_ROUNDS} has lost lines")
    return records, saved["tensors"]


def models_of(path: Path) -> ScoredModels:
    """Every site's model of a finished run, as it was scored."""
    summary_of(path)  # or say that the run is not finished
    if not (path / MODELS).is_file():
        raise BadInput(f"{path} has no {MODELS}; an earlier release wrote none. `simulate --resume {path}` makes it.")

    def rebuilt(about: Description) -> Model:
        config = config_of(path)
        start = started(config, about, build_of(config))
        identity_of(path).check_sources(path, start.sources, of=("model", "init"))
        return start.model

    return ScoredModels.read(path / MODELS, rebuilt)


def _damaged(path: Path, what: str) -> BadInput:
    return BadInput(f"{path} is damaged ({what}); this run cannot go on. Start it again with another --out.")


def _check_unused(path: Path) -> None:
    """What a run that could not begin leaves behind does not count."""
    leftovers = {_LOCK, IDENTITY}
    if path.exists() and (not path.is_dir() or any(file.name not in leftovers for file in path.iterdir())):
        raise BadInput(
            f"{path} holds something already. Choose another --out, or go on with that run: --resume {path}."
        )


def writing(path: Path) -> AbstractContextManager[None]:
    """Turn what the disk answers into a sentence."""
    return files.writing(path, f"What was saved before is whole; make room and use --resume {path}.")


def _save(values: Mapping[str, object], file: BinaryIO) -> None:
    try:
        torch.save(values, file)
    except RuntimeError as error:  # how torch reports a full disk
        raise OSError(str(error).split("\n")[0]) from None


def summary_of(path: Path) -> dict[str, Any]:
    """`summary.json` of a finished run."""
    file = path / "summary.json"
    if not file.is_file():
        raise BadInput(f"{path} has no summary.json: it is not a finished run. Finish it with --resume {path}.")
    summary: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return summary

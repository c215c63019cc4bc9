"""The folder of a run. Files appear whole or not at all, so a run killed at any moment can be continued.

config.toml    complete; `--config` with it gives the same run
rounds.jsonl   a line a round, flushed as it happens
checkpoint/    what is needed to go on after the last whole round
summary.json   at the end
"""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, BinaryIO

import torch
from torch import Tensor

from secure_sapefl.config import Config
from secure_sapefl.engine.result import Result, RoundRecord
from secure_sapefl.errors import BadInput
from secure_sapefl.storage import files, json_lines
from secure_sapefl.storage.files import remove_unfinished, replacing, write_whole

_DAMAGE = (OSError, RuntimeError, EOFError, UnpicklingError, ValueError, KeyError, TypeError)  # as readers report it


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._rounds = path / "rounds.jsonl"
        self._checkpoint = path / "checkpoint" / "state.pt"

    @classmethod
    def create(cls, path: Path, config: Config) -> "RunFolder":
        """A folder for a new run; one that holds anything already is left alone."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(
                f"{path} holds something already. Choose another --out, or go on with that run: --resume {path}."
            )
        folder = cls(path)
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            write_whole(path / "config.toml", config.to_toml().encode())
        return folder

    @classmethod
    def reopen(cls, path: Path) -> tuple["RunFolder", Config]:
        config = path / "config.toml"
        if not config.is_file():
            raise BadInput(f"{path} is not the folder of a run: it has no config.toml. Start one with --out {path}.")
        return cls(path), Config.load(config)

    def save_round(self, record: RoundRecord, tensors: Mapping[str, Tensor]) -> None:
        """First the line, then the checkpoint: what a crash leaves between the two is cut off by `load`."""
        with writing(self.path):
            json_lines.append(self._rounds, record.to_json())
            self._checkpoint.parent.mkdir(exist_ok=True)
            with replacing(self._checkpoint) as file:
                _save({"round": record.round_index, "tensors": dict(tensors)}, file)

    def load(self) -> tuple[list[RoundRecord], dict[str, Tensor]]:
        """Records and tensors after the last round that was saved whole; later lines are removed."""
        if not self._checkpoint.exists():
            self._rounds.unlink(missing_ok=True)
            return [], {}
        try:
            saved = torch.load(self._checkpoint, weights_only=True)
            kept = saved["round"] + 1
            records = [RoundRecord.from_json(line) for line in islice(json_lines.read(self._rounds), kept)]
        except _DAMAGE as error:
            raise self._damaged(f"{type(error).__name__} while reading it") from None
        if len(records) != kept:
            raise self._damaged(f"{self._rounds.name} has lost lines")
        with writing(self.path):
            json_lines.cut(self._rounds, kept)
            remove_unfinished(self._checkpoint)
        return records, saved["tensors"]

    def late_clients(self) -> dict[str, Any] | None:
        """How late sites did, where the run has got so far: they join once, and would have to pay again."""
        return summary_of(self.path).get("late_clients") if (self.path / "summary.json").is_file() else None

    def _damaged(self, what: str) -> BadInput:
        return BadInput(f"{self.path} is damaged ({what}); this run cannot go on. Start it again with another --out.")

    def finish(self, result: Result) -> None:
        with writing(self.path):
            write_whole(self.path / "summary.json", json.dumps(result.summary(), indent=1).encode())


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

"""What the server keeps on disk: every outcome, the sealed models, and a checkpoint that says how far the study is.

lock              held by the process that runs the study
checkpoint.json   closed rounds and how each went, and in which round each site last sent its model
rounds/00003/     outcome, and the sealed models that came in that round
status.json       for people and for `server status`; nothing depends on it

A round exists once the checkpoint counts it. Until then it is open: after a crash it is held again, and sites hand in
the same uploads as before. Nothing here can be read without the cohort key, except names, weights and refusals.
"""

import json
import shutil
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from secure_sapefl.coordinator.progress import ClosedRound
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import RoundOutcome, SealedModel, SiteId
from secure_sapefl.storage import lock
from secure_sapefl.storage.files import make_private_folder, write_private
from secure_sapefl.storage.lock import Lock
from secure_sapefl.storage.parts import from_bytes, to_bytes
from secure_sapefl.transport.heads.rounds import outcome_of, outcome_parts

_OUTCOME: Final = "outcome"


@dataclass(frozen=True, slots=True)
class SealedModels(MutableMapping[SiteId, SealedModel]):
    """Sealed models on disk, one at a time in memory. ``rounds`` says in which round each was made."""

    folder: Path
    rounds: dict[SiteId, int] = field(default_factory=dict)

    def __getitem__(self, site: SiteId) -> SealedModel:
        made = self.rounds[site]
        return SealedModel(sender=site, round_index=made, blob=self.path(site, made).read_bytes())

    def __setitem__(self, site: SiteId, model: SealedModel) -> None:
        path = self.path(site, model.round_index)
        if not path.exists():  # already written when it came, before its round closed
            make_private_folder(path.parent)
            write_private(path, model.blob)
        self.rounds[site] = model.round_index

    def __delitem__(self, site: SiteId) -> None:
        self.path(site, self.rounds.pop(site)).unlink(missing_ok=True)

    def __iter__(self) -> Iterator[SiteId]:
        return iter(self.rounds)

    def __len__(self) -> int:
        return len(self.rounds)

    def path(self, site: SiteId, made: int) -> Path:
        return _round_folder(self.folder, made) / site


class ServerState:
    """``with ServerState(folder, digest) as state``: the study's state, held by this process alone."""

    def __init__(self, folder: Path, study: str) -> None:
        make_private_folder(folder)
        self.folder, self._study = folder, study
        self._lock = Lock(_lock_path(folder), f"The study in {folder}", "Stop that one first.")
        self._parts: list[ServerState] = []
        self.closed, self.history, made = self._load()
        self.models = SealedModels(folder, made)

    def __enter__(self) -> "ServerState":
        return self

    def __exit__(self, *_: object) -> None:
        for part in self._parts:
            part.__exit__()
        self._lock.close()

    def part(self, name: str, study: str) -> "ServerState":
        """The state of what belongs to this study and comes before it, in a folder of its own inside this one."""
        self._parts.append(ServerState(self.folder / name, study))
        return self._parts[-1]

    def new_models(self, round_index: int) -> SealedModels:
        """For the models of an open round; what a crash left of an earlier attempt goes."""
        shutil.rmtree(_round_folder(self.folder, round_index), ignore_errors=True)
        return SealedModels(self.folder)

    def models_of(self, round_index: int) -> SealedModels:
        """The models that came in an open round before the server was started anew."""
        folder = _round_folder(self.folder, round_index)
        return SealedModels(self.folder, {path.name: round_index for path in folder.glob("*") if path.name != _OUTCOME})

    def close_round(self, outcome: RoundOutcome, how: ClosedRound) -> None:
        """The outcome is there to stay, and with it the models that came; older ones of the same sites go."""
        folder = _round_folder(self.folder, outcome.round_index)
        make_private_folder(folder)
        write_private(folder / _OUTCOME, to_bytes(outcome_parts(outcome)))
        self.closed, self.history = outcome.round_index + 1, [*self.history, how.to_json()]
        checkpoint = {
            "study": self._study,
            "closed": self.closed,
            "history": self.history,
            "models": self.models.rounds,
        }
        write_private(self.folder / "checkpoint.json", json.dumps(checkpoint).encode())
        self._prune()

    def outcome(self, round_index: int) -> RoundOutcome:
        return outcome_of(from_bytes((_round_folder(self.folder, round_index) / _OUTCOME).read_bytes()))

    def publish(self, status: dict[str, Any]) -> None:
        write_private(self.folder / "status.json", json.dumps(status, indent=1).encode())

    def _load(self) -> tuple[int, list[dict[str, Any]], dict[SiteId, int]]:
        path = self.folder / "checkpoint.json"
        if not path.exists():
            return 0, [], {}
        saved = json.loads(path.read_bytes())
        if saved["study"] != self._study:
            raise BadInput(
                f"{self.folder} holds study {saved['study'][:16]}, not {self._study[:16]}: a changed study is another "
                "study. Give it a folder of its own (--state)."
            )
        return int(saved["closed"]), list(saved["history"]), dict(saved["models"])

    def _prune(self) -> None:
        current = {self.models.path(site, made) for site, made in self.models.rounds.items()}
        for path in (self.folder / "rounds").glob("*/*"):
            if path.name != _OUTCOME and path not in current:
                path.unlink()


def read_status(folder: Path) -> dict[str, Any]:
    """`status.json`, with whether the study is running now."""
    path = folder / "status.json"
    if not path.is_file():
        raise BadInput(f"{folder} holds no running study; start one with `secure-sapefl server start`.")
    return {**json.loads(path.read_bytes()), "running": is_held(folder)}


def is_held(folder: Path) -> bool:
    """Whether some process runs the study now."""
    return lock.is_held(_lock_path(folder))


def _lock_path(folder: Path) -> Path:
    return folder / "lock"


def _round_folder(folder: Path, round_index: int) -> Path:
    return folder / "rounds" / f"{round_index:05d}"

"""What a run was begun with and has to go on with: the package's version, its settings, the rows, who holds which, and
code and weights of the user's own."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from secure_sapefl import __version__
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.data.fingerprint import fingerprint
from secure_sapefl.errors import BadInput

_SOURCES: Final = ("model", "init", "method", "task")
_MAY_CHANGE: Final = frozenset({"dataset", "data_dir", "device", "engine", "group_size", "threads", "workers"})
"""Where the data lies, which digests hold to what it was; and who computes, which no number depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    version: str
    data: str
    partition: str
    sources: Mapping[str, str] = field(default_factory=dict)  # digests by what they are of
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_federation(
        cls, federation: Federation, config: Config, sources: Mapping[str, str] | None = None
    ) -> "Identity":
        data, partition = fingerprint(federation)
        return cls(
            version=__version__, data=data, partition=partition, sources=dict(sources or {}), settings=_settings(config)
        )

    @classmethod
    def read(cls, path: Path, run: Path) -> "Identity":
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise BadInput(
                f"{run} does not say what data it was begun with ({path.name} is missing; release 0.1.0 wrote none). "
                f"Go on with the release that began it. {_ANEW}"
            ) from None
        except (OSError, ValueError, TypeError) as error:
            raise BadInput(f"{path} is damaged ({type(error).__name__}). Put it back from a copy. {_ANEW}") from None

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), indent=1).encode()

    def check_version(self, run: Path) -> None:
        """Numbers of two releases do not belong in one run."""
        if self.version != __version__:
            raise BadInput(
                f"{run}: the version differs. It was begun with secure-sapefl {self.version}, this is {__version__}. "
                f"Go on with {self.version}. {_ANEW}"
            )

    def check_settings(self, run: Path, config: Config) -> None:
        """A budget, say, that was changed between two rounds would be told of rounds that had another."""
        now = _settings(config)
        for key in sorted({*self.settings, *now}):
            before, after = self.settings.get(key), now.get(key)
            if before != after:
                raise BadInput(
                    f"{run}: the setting {key} differs. It was begun with {before!r}, config.toml says {after!r}. Put "
                    f"config.toml back as it was. {_ANEW}"
                )

    def fits(self, federation: Federation) -> bool:
        """Whether these are the rows, and the sites that hold them."""
        return (self.data, self.partition) == fingerprint(federation)

    def check_rows(self, run: Path, federation: Federation) -> None:
        """The federation is the one the run was begun with, or the error says in what it is not."""
        if self.fits(federation):
            return
        if fingerprint(federation)[0] != self.data:
            raise BadInput(
                f"{run}: the data differs. The rows of {federation.dataset} ({federation.source}) are not those it was "
                f"begun with. Put those back; from Python, pass the same federation. {_ANEW}"
            )
        raise BadInput(
            f"{run}: the partition differs. The rows are those it was begun with, but sites hold others of them. "
            f"Put config.toml back as it was; from Python, pass the same federation. {_ANEW}"
        )

    def check_sources(self, run: Path, sources: Mapping[str, str], of: Collection[str] = _SOURCES) -> None:
        """Own code, and weights to start from, are those the run was begun with; those named by ``of``."""
        for what in sorted({*self.sources, *sources}.intersection(of)):
            if self.sources.get(what) != sources.get(what):
                raise BadInput(
                    f"{run}: the {what} differs. Its file is not the one it was begun with. Put that back; from "
                    f"Python, pass the same function. {_ANEW}"
                )


def _settings(config: Config) -> dict[str, Any]:
    """As JSON gives them back. Ledgers may move, and are held to their heads; a run that has some keeps some."""
    values = json.loads(config.model_dump_json(exclude_none=True))
    if "dp_ledgers" in values:
        values["dp_ledgers"] = "a folder"
    return {key: value for key, value in values.items() if key not in _MAY_CHANGE}


_ANEW = "Or start it anew with another --out."

"""What a run is: one frozen, typed value that a TOML file can hold and give back unchanged."""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from secure_sapefl.errors import BadInput

Partition = Literal["natural", "dirichlet", "iid", "clustered"]
ProtectionName = Literal["ckks", "plaintext"]


class Settings(BaseModel):
    """A frozen group of named values whose mistakes are answered in a sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    @classmethod
    def read(cls, values: Mapping[str, Any], where: str) -> Self:
        """Validate ``values``; ``where`` says in the error whose they are."""
        try:
            return cls(**values)
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from None

    @model_validator(mode="wrap")
    @classmethod
    def _in_a_sentence(cls, values: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            raise BadInput(_sentence(error, cls.model_fields)) from None


class Config(Settings):
    """One simulated study. Field names are the command line's option names and the keys of `config.toml`."""

    dataset: str = "synthetic"
    method: str = "sapefl"
    clients: int | None = Field(None, ge=1)
    late_clients: int = Field(0, ge=0)
    rounds: int = Field(10, ge=1)
    participation: float = Field(0.7, gt=0, le=1)
    partition: Partition | None = None
    kappa: float = Field(0.3, gt=0)
    clusters: int = Field(4, ge=1)
    seed: int = Field(0, ge=0)
    local_epochs: int = Field(5, ge=1)
    batch_size: int = Field(16, ge=1)
    lr: float = Field(0.05, gt=0)
    evaluate_every: int = Field(1, ge=1)
    model: Literal["small", "paper"] = "small"
    protection: ProtectionName = "ckks"
    device: str = "auto"
    engine: Literal["batched", "sequential"] = "batched"
    group_size: int | None = Field(None, ge=1)
    peers_per_client: int | None = Field(None, ge=1)
    threads: int | None = Field(None, ge=1)
    workers: int | None = Field(None, ge=0)
    dp_epsilon: float | None = Field(None, gt=0)
    dp_delta: float | None = Field(None, gt=0, lt=1)
    dp_clip: float = Field(1.0, gt=0)
    dp_score_fraction: float = Field(0.1, gt=0, lt=1)
    dp_secure_noise: bool = False
    dp_ledgers: Path | None = None
    rows: int | None = Field(None, ge=1)
    data_dir: Path | None = None
    label: str | None = None
    group: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    data_options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("dataset", "method")
    @classmethod
    def _not_empty(cls, name: str) -> str:
        if not name.strip():
            raise ValueError("is empty")
        return name

    @field_validator("device")
    @classmethod
    def _known_device(cls, name: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,2})?", name):
            raise ValueError("a device is auto, cpu, cuda or, one of several, cuda:1")
        return name

    @field_validator("dp_delta")
    @classmethod
    def _both_or_neither(cls, delta: float | None, info: ValidationInfo) -> float | None:
        if "dp_epsilon" in info.data and (delta is None) != (info.data["dp_epsilon"] is None):
            raise ValueError("epsilon and delta are given together, for instance 4 and 1e-5")
        return delta

    @field_validator("options", "data_options")
    @classmethod
    def _writable(cls, values: dict[str, Any]) -> dict[str, Any]:
        """What a TOML file can hold: None, which it cannot, means the same as leaving the key out."""
        for key, value in values.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{key} is not a finite number")
        return {key: value for key, value in values.items() if value is not None}

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a TOML file as `to_toml` writes it; keys left out keep their defaults."""
        return cls.read(read_toml(path), str(path))

    def to_toml(self) -> str:
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"Cannot read the configuration {path}: {getattr(error, 'strerror', None) or error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is not valid TOML: {error}.") from None


def _sentence(error: ValidationError, known: Iterable[str]) -> str:
    """The first mistake, named, with the nearest key where one was misspelt."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        near = get_close_matches(key, list(known), n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(sorted(known))}."
        return f"unknown key {key!r}.{hint}"
    if first["type"] == "missing":
        return f"{key!r} is missing, and has no default."
    return f"{key} = {first['input']!r} is not possible: {first['msg'].removeprefix('Value error, ')}."

"""What a run is: one frozen, typed value that a TOML file can hold and give back unchanged."""

import math
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_origin

import tomli_w
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from secure_sapefl.errors import BadInput
from secure_sapefl.plain_text import sentence

_LARGEST_FILE: Final = 16 << 20  # characters; the roster of a hundred thousand sites
_LIMITS: Final = {
    "greater_than_equal": "give {ge} or more",
    "greater_than": "give more than {gt}",
    "less_than_equal": "give {le} or less",
    "less_than": "give less than {lt}",
}
Partition = Literal["natural", "dirichlet", "iid", "clustered"]
ProtectionName = Literal["ckks", "plaintext"]
ScoreVisibility = Literal["open", "hidden"]
NoiseSource = Literal["local", "shared"]
PrivacyUnit = Literal["record", "person", "site"]
Optimizer = Literal["momentum", "adam"]
LocalOptimizer = Literal["sgd", "adam", "adamw"]
ScheduleName = Literal["constant", "linear", "cosine"]
KeyChoice = Literal["shared", "joint"]
PreparationName = Literal["common", "site", "public"]
Panel = Literal["Data", "Federation", "Training", "Privacy", "Protection", "Running"]
"""The parts of `--help` and of the table of settings, in their order."""


def setting(panel: Panel | None, default: Any, description: str, **bounds: Any) -> Any:
    """A field with its line of help. ``...`` as default means that it has to be given. One without a panel is a key of
    files alone and no option."""
    return Field(default, description=description, json_schema_extra={"panel": panel}, **bounds)


def _not_empty(name: str) -> str:
    if not name.strip():
        raise ValueError("is empty")
    return name


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


def _writable(values: dict[str, Any]) -> dict[str, Any]:
    """What a TOML file can hold: None, which it cannot, means the same as leaving the key out."""
    for key, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{key} is not a finite number")
    return {key: value for key, value in values.items() if value is not None}


Name = Annotated[str, AfterValidator(_not_empty)]
Options = Annotated[dict[str, Any], AfterValidator(_writable)]


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


class PublicFacts(Settings):
    """What a private study says of its data aloud, chosen before the records are looked at. Neighbouring files share
    it: whatever follows from these names and numbers says nothing about a record.

    A simulation reads what is not given here off its data, once, and keeps it in the run's `config.toml`.
    """

    rows: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)  # to train on, declared by each site
    persons: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)  # behind these rows, where known
    classes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()  # the natural sites of a file
    file_rows: int | None = Field(None, ge=1)  # about, of the whole file; what ``Config.rows`` is a part of


class Agreed(Settings):
    """What sites agreed on for their tables, from the totals of all: the same fill, scale and levels everywhere."""

    numbers: dict[str, tuple[float, float, float]] = Field(default_factory=dict)  # fill, mean, deviation of a column
    levels: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # of a category, those that somebody has
    sites: int = Field(ge=1)  # whose counts are in the totals
    noised: bool = False  # and paid for, in a private study


class Plan(Settings):
    """What is agreed in every study, simulated or deployed: `Config` and a study file have these fields in common."""

    method: Name = setting(
        "Training", "sapefl", "The method; `secure-sapefl methods` lists all. In a simulation also a FILE.py of yours."
    )
    options: Options = setting("Training", {}, "KEY=VALUE for the method, e.g. influence=0.25 (δ of SAPE-FL).")
    model: Name = setting(
        "Training", "small", "linear, small, paper, table, resnet, lstm, transformer, or your own: FILE.py:FUNCTION."
    )
    task: str | None = setting(
        "Training", None, "classification, multilabel, regression, or your own: FILE.py:TASK. By default by the labels."
    )
    class_weights: str | None = setting(
        "Training", None, "What a record of each class counts: balanced, or numbers in the order of classes: 1,3.5."
    )
    head: str | None = setting("Training", None, "The part of your own model that is its head, e.g. fc.")
    rounds: int = setting("Training", 10, "Rounds of training, T.", ge=1)
    local_epochs: int = setting("Training", 5, "Epochs a site trains in a round, E.", ge=1)
    batch_size: int = setting("Training", 16, "Records in a mini-batch of SGD.", ge=1)
    lr: float = setting("Training", 0.05, "Learning rate of SGD, η.", gt=0)
    server_momentum: float = setting(
        "Training",
        0.0,
        "Momentum m of the global step, v ← m v + mean update, of any method.",
        ge=0,
        lt=1,
    )
    seed: int = setting("Running", 0, "Fixes every random draw but those that must be secret.", ge=0)
    participation: float = setting("Federation", 0.7, "Share of the sites in a round, r.", gt=0, le=1)
    peers_per_client: int | None = setting(
        "Federation", None, "Give each site the models of a random k peers; by default of all.", ge=1
    )
    scores: ScoreVisibility = setting(
        "Protection", "open", "open: the server reads each score s_c. hidden: sites weigh their updates themselves."
    )
    dp_noise: NoiseSource = setting(
        "Privacy", "local", "local: each site's noise hides it. shared: that of all sites hides them in the sum."
    )
    dp_unit: PrivacyUnit = setting("Privacy", "record", "Whom shared noise hides: a record, a person or a whole site.")
    dp_contributors: int | None = setting(
        "Privacy", None, "m: with shared noise, the fewest sites in a sum; by default nine of ten of the invited.", ge=2
    )
    dp_colluders: int = setting("Privacy", 1, "t: of these, how many may collude.", ge=0)
    dp_rate: float | None = setting(
        "Privacy",
        None,
        "With shared noise, a record's chance to be in a step; by default calibrated.",
        gt=0,
        le=1,
    )
    dp_lr: float | None = setting(
        "Privacy", None, "With shared noise, the learning rate of the common step; by default calibrated.", gt=0
    )
    dp_optimizer: Optimizer = setting("Privacy", "momentum", "With shared noise, the optimiser of the common step.")
    preparation: PreparationName | None = setting(
        "Data",
        None,
        "A table's fill and scale: from sums over all sites (common), each site's own rows, or public.",
    )
    keys: KeyChoice = setting(
        "Protection", "shared", "shared: one key for all sites. joint: a site's own each round; only sums are opened."
    )
    colluders: int = setting(
        "Protection", 1, "With joint keys: sites that may work with the server and still read nobody's update.", ge=1
    )

    @field_validator("dp_noise")
    @classmethod
    def _one_momentum(cls, noise: NoiseSource, info: ValidationInfo) -> NoiseSource:
        if noise == "shared" and info.data.get("server_momentum"):
            raise ValueError("the step under shared noise has a momentum of its own; leave out --server-momentum")
        return noise

    @field_validator("class_weights")
    @classmethod
    def _readable_weights(cls, weights: str | None) -> str | None:
        if weights is not None and weights != "balanced":
            parts = weights.split(",")
            if len(parts) < 2 or not all(_is_positive(part) for part in parts):
                raise ValueError("weights are balanced, or positive numbers parted by commas, such as 1,3.5")
        return weights

    @field_validator("dp_unit")
    @classmethod
    def _hidden_among_others(cls, unit: PrivacyUnit, info: ValidationInfo) -> PrivacyUnit:
        if unit != "record" and info.data.get("dp_noise") == "local":
            raise ValueError("a site's own noise hides its records one by one; give --dp-noise shared as well")
        return unit


class Config(Plan):
    """One simulated study. Field names are the command line's option names and the keys of `config.toml`.

    Whoever adds a field writes its help here, and nowhere else: options, their help and the table of the docs follow.
    """

    dataset: Name = setting(
        "Data", "synthetic", "A registered name, a file (.csv, .tsv, .parquet, .xlsx, .npz), or a folder of images."
    )
    data_dir: Path | None = setting("Data", None, "Folder with .npz files; also $SAPEFL_DATA.")
    data_schema: Path | None = setting(
        "Data", None, "What a table's columns are: a schema.toml (`data schema`), or a study file."
    )
    label: str | None = setting("Data", None, "The column of a table to predict; several: A,B.")
    group: str | None = setting("Data", None, "The column of a table that names a row's site.")
    accept: str = setting("Data", "", "Findings of `data check` to wave through, by name: identifier:case,label:score.")
    rows: int | None = setting("Data", None, "Use at most N random rows of the data, for quick runs.", ge=1)
    data_options: Options = setting("Data", {}, "KEY=VALUE for the dataset, e.g. flip_y=0.")
    clients: int | None = setting("Federation", None, "Sites, C; by default all natural groups, else 20.", ge=1)
    late_clients: int = setting("Federation", 0, "Of these, the last N join after training, by one round.", ge=0)
    partition: Partition | None = setting(
        "Federation", None, "Who holds which rows; by default natural where the data has groups, else dirichlet."
    )
    kappa: float = setting("Federation", 0.3, "Concentration κ of the Dirichlet partition; small is skewed.", gt=0)
    clusters: int = setting("Federation", 4, "Groups of sites that disagree on labels, if clustered.", ge=1)
    init: Path | None = setting("Training", None, "Weights to start from: a state_dict, .pt or .safetensors.")
    optimizer: LocalOptimizer = setting("Training", "sgd", "What takes a site's steps; begun anew each round.")
    momentum: float = setting("Training", 0.0, "Momentum of SGD at a site.", ge=0, lt=1)
    weight_decay: float = setting("Training", 0.0, "Pull of all weights towards 0.", ge=0)
    max_grad_norm: float | None = setting("Training", None, "Longest gradient of a step; a longer one is cut.", gt=0)
    keep_optimizer: bool = setting("Training", False, "Sites remember momentum and Adam's moments from round to round.")
    schedule: ScheduleName = setting("Training", "constant", "How the learning rate goes from round to round.")
    warmup_rounds: int = setting("Training", 0, "Rounds in which the learning rate rises to its full height.", ge=0)
    early_stopping: int | None = setting(
        "Training",
        None,
        "Stop after N evaluations that are no better on training rows held back; use the best.",
        ge=1,
    )
    evaluate_every: int = setting("Training", 1, "Evaluate every so many rounds, and after the last.", ge=1)
    dp_epsilon: float | None = setting("Privacy", None, "Privacy budget ε of each site; with --dp-delta.", gt=0)
    dp_delta: float | None = setting("Privacy", None, "δ: far below 1 / rows of a site, e.g. 1e-5.", gt=0, lt=1)
    dp_clip: float = setting("Privacy", 1.0, "Largest gradient norm of one record.", gt=0)
    dp_score_fraction: float = setting("Privacy", 0.1, "Share of the budget for similarity scores.", gt=0, lt=1)
    dp_secure_noise: bool = setting("Privacy", False, "Cryptographically secure noise; cannot be repeated.")
    dp_ledgers: Path | None = setting("Privacy", None, "Folder of the sites' ledgers; what earlier runs spent counts.")
    dp_public: PublicFacts | None = setting(None, None, "What sites of a private study declare: rows, classes, groups.")
    agreed: Agreed | None = setting(None, None, "What the sites of a run with a common preparation agreed on.")
    protection: ProtectionName = setting(
        "Protection", "ckks", "Updates encrypted and models sealed, or plaintext for research."
    )
    device: str = setting("Running", "auto", "auto, cpu, cuda or, one of several, cuda:1.")
    engine: Literal["batched", "compiled", "sequential"] = setting(
        "Running", "batched", "Train sites together, the same by torch.compile, or one by one (the slow reference)."
    )
    group_size: int | None = setting("Running", None, "Sites trained together; by default from memory.", ge=1)
    threads: int | None = setting("Running", None, "Threads that train; by default all cores but one.", ge=1)
    workers: int | None = setting("Running", None, "Processes that encrypt; 0 for none besides this one.", ge=0)

    @field_validator("device")
    @classmethod
    def _known_device(cls, name: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,2})?", name):
            raise ValueError("a device is auto, cpu, cuda or, one of several, cuda:1")
        return name

    @field_validator("dp_clip")
    @classmethod
    def _within_float32(cls, clip: float) -> float:
        return sound_clip(clip)

    @field_validator("dp_delta")
    @classmethod
    def _both_or_neither(cls, delta: float | None, info: ValidationInfo) -> float | None:
        if "dp_epsilon" in info.data and (delta is None) != (info.data["dp_epsilon"] is None):
            raise ValueError("epsilon and delta are given together, for instance 4 and 1e-5")
        return delta

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a TOML file as `to_toml` writes it; keys left out keep their defaults."""
        return cls.read(read_toml(Path(path)), str(path))

    def to_toml(self) -> str:
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def sound_clip(clip: float) -> float:
    """Gradients are float32: beyond these lengths nothing is left of them, or nothing is cut."""
    if not 1e-30 <= clip <= 1e30:
        raise ValueError("gradients are clipped to a length between 1e-30 and 1e30")
    return clip


def read_toml(path: Path) -> dict[str, Any]:
    """A file that another party may have written, such as a study: bounded, and refused in a sentence."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LARGEST_FILE + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"Cannot read {path}: {why}. Check the path, and that it is a text file in UTF-8.") from None
    if len(text) > _LARGEST_FILE:
        raise BadInput(f"{path} has more than {_LARGEST_FILE >> 20} MiB: it is no configuration and no study.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
        raise BadInput(
            f"{path} is not valid TOML: {error}. Correct that place; if the file was cut on its way, get it again."
        ) from None


def flag_of(name: str, field: FieldInfo) -> str:
    """The option a field is; one of free keys, such as ``options``, is repeated: ``--option KEY=VALUE``."""
    return "--" + (name.removesuffix("s") if get_origin(field.annotation) is dict else name).replace("_", "-")


def _sentence(error: ValidationError, known: Mapping[str, FieldInfo]) -> str:
    """The first mistake, named, with the nearest key where one was misspelt, and the option it is where it is one."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        near = get_close_matches(key, list(known), n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(sorted(known))}."
        return f"unknown key {key!r}.{hint}"
    if first["type"] == "missing":
        return f"{key!r} is missing, and has no default.{_as_option(key, known) or ' Add it.'}"
    limit = _LIMITS.get(first["type"])
    wrong = first["msg"].removeprefix("Value error, ") if limit is None else limit.format(**first["ctx"])
    return f"{key} = {sentence(repr(first['input']))} is not possible: {wrong}.{_as_option(key, known)}"


def _as_option(key: str, known: Mapping[str, FieldInfo]) -> str:
    """What the key is on the command line, and what it means."""
    field = known.get(key)
    extra = {} if field is None or not isinstance(field.json_schema_extra, dict) else field.json_schema_extra
    return "" if field is None or not extra.get("panel") else f" {flag_of(key, field)}: {field.description}"

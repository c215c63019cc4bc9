"""What a coordinator chooses for a study; the options of `study new` are made from these fields."""

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, field_validator

from secure_sapefl.config import Plan, Settings, setting, sound_clip
from secure_sapefl.own_code import names_own_code
from secure_sapefl.study.roster import SMALLEST_ROSTER

_FILE_NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _fit_for_a_file_name(name: str) -> str:
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(
            "a study's name has 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        )
    return name


StudyName = Annotated[str, AfterValidator(_fit_for_a_file_name)]


class CkksPlan(Settings):
    """What the cohort key is made for (`keys cohort`); all else follows from it, see `Parameters.exact`."""

    max_clients: int = setting(
        "Protection", ..., "As in `keys cohort`; by default the sites given.", ge=SMALLEST_ROSTER, le=2**20
    )
    max_abs_value: float = setting("Protection", 8.0, "Largest number in an update; a larger one is refused.", gt=0)


class PrivacyTerms(Settings):
    """The most a site spends on this study. ``noise`` that can be repeated from the seed hides nothing from anybody who
    has this file: it is for trials on mock data, and for comparing a deployment with a simulation."""

    epsilon: float = setting("Privacy", ..., "Privacy budget ε of each site; with --delta.", gt=0)
    delta: float = setting("Privacy", ..., "δ: far below 1 / records of a site, e.g. 1e-5.", gt=0, lt=1)
    clip: float = setting("Privacy", 1.0, "Largest gradient norm of one record.", gt=0)
    score_fraction: float = setting("Privacy", 0.1, "Share of the budget for similarity scores.", gt=0, lt=1)
    noise: Literal["secure", "repeatable"] = setting(
        "Privacy", "secure", "repeatable hides nothing: for trials on mock data only."
    )

    @field_validator("clip")
    @classmethod
    def _within_float32(cls, clip: float) -> float:
        return sound_clip(clip)


class StudySettings(Plan):
    """A study but for its keys and its data."""

    kind: Literal["training", "statistics"] = setting(
        "Federation", "training", "training, or statistics: a Table 1 over all sites and nothing else."
    )
    smallest_cell: int = setting("Data", 5, "Counts below this are left out of a Table 1.", ge=1)
    name: StudyName = setting("Federation", ..., "The study's name, which is also its cohort key's.")
    purpose: str = setting("Federation", "", "What it is for, in one line for data officers.", max_length=2000)
    participation: float = setting("Federation", 1.0, "Share of the sites in a round, r.", gt=0, le=1)
    largest_site: int = setting("Data", ..., "Most training records any site has; public.", ge=1, le=10**9)
    records: dict[str, Annotated[int, Field(ge=1)]] = setting(
        "Data", {}, "SITE=N: training records that a site of a private study declares; else --largest-site."
    )
    persons: dict[str, Annotated[int, Field(ge=1)]] = setting(
        "Data", {}, "SITE=N: persons behind a site's training records, for --dp-unit person; else as many as records."
    )
    min_cohort: int = setting("Federation", SMALLEST_ROSTER, "Fewest answers that make a round count.", ge=1)
    metrics: Literal["none", "sum"] = setting(
        "Federation", "none", "Test results that leave: none, or one encrypted sum over sites after the last round."
    )
    round_deadline: float = setting("Running", 600.0, "Seconds until a round closes.", gt=0)
    protection: CkksPlan
    privacy: PrivacyTerms | None = None

    @field_validator("model")
    @classmethod
    def _ours(cls, name: str) -> str:
        if names_own_code(name):
            raise ValueError(
                "a study holds the code itself, not its place; make it with `study new --model FILE.py:FUNCTION`"
            )
        return name

    @field_validator("task")
    @classmethod
    def _our_task(cls, name: str | None) -> str | None:
        if name not in (None, "classification", "multilabel", "regression"):
            raise ValueError(
                "a deployed study names classification, multilabel or regression; own tasks run in simulations"
            )
        return name

    @field_validator("class_weights")
    @classmethod
    def _given_weights(cls, weights: str | None) -> str | None:
        if weights == "balanced":
            raise ValueError("no party of a deployed study counts all sites' classes; give the weights: 1,3.5")
        return weights

    @field_validator("purpose")
    @classmethod
    def _shown_as_it_is(cls, text: str) -> str:
        if not text.isprintable():
            raise ValueError("write the purpose as one line of printable text")
        return text

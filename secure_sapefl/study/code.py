"""The source of a model that a study carries: one file, signed with the study, and what it declares of itself.

The file's author builds the model once (`study new`) and writes down its parameters. From then on nobody needs to run
the code to know what a site sends; sites run it in a trainer process, if their owners approve its digest.
"""

import ast
import hashlib
import keyword
import math
from typing import Annotated, Final, Self

from pydantic import Field, field_validator, model_validator

from secure_sapefl.config import Settings
from secure_sapefl.errors import StudyRejected
from secure_sapefl.models.declared import CARRIED, DeclaredModel, Parameter
from secure_sapefl.plain_text import LONGEST_NAME, is_name

_LONGEST: Final = 200_000  # characters; somebody is to read it
_MOST_WEIGHTS: Final = 2**31
_BUDGET: Final = (
    "a study with a privacy budget names one of our models. Code that sees records and returns weights can skip "
    "clipping and noise, and the budget would say nothing"
)

Sizes = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=16)]


class DeclaredParameter(Settings):
    """Of the flat vector of weights, one tensor."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    shape: Sizes

    @field_validator("name")
    @classmethod
    def _shown_as_it_is(cls, name: str) -> str:
        if not is_name(name):
            raise ValueError("a parameter's name is printable")
        return name


class CarriedCode(Settings):
    file: str = Field(max_length=LONGEST_NAME)  # what it was called; nobody opens it
    function: str  # that makes the module of the data's description
    source: str = Field(max_length=_LONGEST)
    parameters: tuple[DeclaredParameter, ...] = Field(min_length=1, max_length=10_000)
    head_start: int = Field(ge=0)

    @field_validator("source")
    @classmethod
    def _read_as_it_is(cls, source: str) -> str:
        """What a terminal or an editor would hide or reorder is refused: the owner must see what Python sees."""
        for number, line in enumerate(source.split("\n"), 1):
            if not line.replace("\t", "").isprintable():
                raise ValueError(f"line {number} of the code holds characters that are not shown; leave them out")
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"the code is not Python ({type(error).__name__})") from None
        return source

    @field_validator("function", "file")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        stem = name.removesuffix(".py")
        if not stem.replace("-", "_").replace(".", "_").isidentifier() or keyword.iskeyword(stem) or not stem.isascii():
            raise ValueError(f"{name!r} is not the name of a Python file or function")
        return name

    @model_validator(mode="after")
    def _countable(self) -> Self:
        if self.weights > _MOST_WEIGHTS or self.head_start > self.weights:
            raise StudyRejected(f"a model of {self.weights:,} weights whose head begins at {self.head_start:,}.")
        if len({parameter.name for parameter in self.parameters}) < len(self.parameters):
            raise StudyRejected("two parameters have one name.")
        return self

    @property
    def weights(self) -> int:
        return sum(math.prod(parameter.shape) for parameter in self.parameters)

    @property
    def digest(self) -> str:
        """Of the source as it is run."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @property
    def lines(self) -> int:
        return len(self.source.splitlines())

    def declared(self, classes: int) -> DeclaredModel:
        weights = tuple(Parameter(one.name, one.shape) for one in self.parameters)
        return DeclaredModel(weights=weights, head_start=self.head_start, classes=classes, digest=self.digest)


def objection(model: str, code: CarriedCode | None, *, budget: bool) -> str | None:
    """What is wrong with a study that says this of its model."""
    if (model == CARRIED) != (code is not None):
        return (
            f"model = {model!r} and {'no ' if code is None else ''}code: a study carries code or names a model of ours"
        )
    return _BUDGET if budget and code is not None else None

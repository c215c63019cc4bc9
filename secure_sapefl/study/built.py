"""Where carried code is run: by its author who makes a study (`new.py`), and in a site's trainer process. Nowhere else
is this file imported (`tests/test_imports.py`), so no agent and no coordinator ever runs what a study brings.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from secure_sapefl.data.tables.schema import read_schema
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.models.base import Description, Model
from secure_sapefl.models.declared import CARRIED, declared_weights
from secure_sapefl.models.presets import Choice, made
from secure_sapefl.own_code import OwnCode, parted
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.study.code import CarriedCode
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.tasks.builtin import BY_LABELS


def carrying(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A draft whose model is FILE.py:FUNCTION, with that file's source in it and the parameters of what it builds."""
    path, function = parted(str(fields["model"]), "model")
    if not path.endswith(".py"):
        raise StudyRejected(
            f"A study carries one file: name its model as FILE.py:FUNCTION, not {fields['model']!r}. What an installed "
            "package has, sites do not have."
        )
    try:
        source = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The model: cannot read {path} ({getattr(error, 'strerror', None) or error}).") from None
    own = _run(source, Path(path).name, function)
    schema = read_schema(fields.get("data", {}))
    choice = Choice(name=CARRIED, head=fields.get("head"), build=own)
    task = BY_LABELS[schema.label_is.kind]
    about = Description(schema.shape, task.outputs(len(schema.label_names)), task.name)
    model = made(choice, about, stream(int(fields.get("seed", 0)), Purpose.INITIAL_WEIGHTS)).model
    code = {"file": Path(path).name, "function": function, "source": source, "head_start": model.head_start}
    return {**fields, "model": CARRIED, "code": {**code, "parameters": _declared(model)}}


def with_code(file: StudyFile) -> StudyTerms:
    """The terms of a study with the model that its code builds, where that is what the file declares."""
    code = _required(file.code)
    terms = StudyTerms.from_file(file, _run(code.source, code.file, code.function))
    built = terms.blueprint.model
    if (_declared(built), built.head_start) != ([one.model_dump() for one in code.parameters], code.head_start):
        raise StudyRejected(f"The code of study {file.name!r} builds another model than its file declares.")
    return terms


def _required(code: CarriedCode | None) -> CarriedCode:
    if code is None:
        raise StudyRejected("The study carries no code.")
    return code


def _declared(model: Model) -> list[dict[str, Any]]:
    return [{"name": weight.name, "shape": weight.shape} for weight in declared_weights(model)]


def _run(source: str, file: str, function: str) -> OwnCode:
    """The module is one of its own, not found by anybody's import."""
    module = ModuleType("secure_sapefl_carried")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(source, file, "exec"), vars(module))  # noqa: S102 - what this file is for
    except Exception as error:
        raise BadInput(f"The model: {file} cannot be run ({type(error).__name__}: {error}).") from error
    if not hasattr(module, function):
        raise BadInput(f"The model: {file} has no {function!r}.")
    return OwnCode(f"{file}:{function}", getattr(module, function), "")

"""Command options made from the fields of a `Settings` class: name, type, default, bounds and help stand once, there.

A value is checked by the class itself, so that the command line and a TOML file are answered by the same sentence.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer
from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.models import ParameterInfo

from secure_sapefl.cli.options import given, key_values
from secure_sapefl.config import Panel, Settings, flag_of

PANELS: Final[tuple[Panel, ...]] = get_args(Panel)
_AS_DECLARED: Final[Mapping[str, Any]] = MappingProxyType({})
_TYPES: Final = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}
_BOUNDS: Final = {Ge: ("ge", "at least"), Gt: ("gt", "above"), Le: ("le", "at most"), Lt: ("lt", "below")}

Command = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOption:
    """One field as an option; one of free keys, such as ``options``, is ``--option KEY=VALUE``, as often as needed."""

    name: str
    field: FieldInfo
    default: Any
    table: str | None = None  # the field this one lies in, where it is not the class's own

    @property
    def kind(self) -> Any:
        return _without_none(self.field.annotation)

    @property
    def is_free(self) -> bool:
        return get_origin(self.kind) is dict

    @property
    def flag(self) -> str:
        return flag_of(self.name, self.field)

    @property
    def panel(self) -> Panel:
        extra: Any = self.field.json_schema_extra
        panel: Panel = extra["panel"]
        return panel

    @property
    def metavar(self) -> str | None:
        """What is typed after the flag; None where nothing is."""
        if self.is_free:
            return "KEY=VALUE"
        if get_origin(self.kind) is Literal:
            return f"[{'|'.join(get_args(self.kind))}]"
        return None if self.kind is bool else _TYPES[self.kind]

    @property
    def bounds(self) -> str:
        """For instance `above 0, at most 1`."""
        words = [(bound, *_BOUNDS[type(bound)]) for bound in self.field.metadata if type(bound) in _BOUNDS]
        return ", ".join(f"{word} {getattr(bound, name):,}" for bound, name, word in words)

    @property
    def shown_default(self) -> str:
        """Empty where the help says in words what happens."""
        unsaid = self.default is None or self.default is False or self.default in ({}, "", PydanticUndefined)
        return "" if unsaid else str(self.default)

    @property
    def help(self) -> str:
        default = f"default: {self.shown_default}" if self.shown_default else ""
        known = "; ".join(text for text in (self.bounds, default) if text)
        return f"{self.field.description}{f' [{known}]' if known else ''}"

    def parameter(self) -> inspect.Parameter:
        """As Typer reads it off a signature. What nobody typed is None, and leaves a file's value alone."""
        choice = get_origin(self.kind) is Literal
        kind: Any = list[str] if self.is_free else str if choice else self.kind
        option = typer.Option(self.flag, help=self.help, metavar=self.metavar, rich_help_panel=self.panel)
        annotation = Annotated[kind | None, option]
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)

    def read(self, typed: Any) -> Any:
        return key_values(typed) if self.is_free else typed


def setting_options(
    model: type[Settings],
    *,
    without: Collection[str] = (),
    defaults: Mapping[str, Any] = _AS_DECLARED,
    table: str | None = None,
) -> Iterator[SettingOption]:
    """One option a field, those of a field's own fields included, but for the fields in ``without``."""
    for name, field in model.model_fields.items():
        kind = _without_none(field.annotation)
        if name in without or field.json_schema_extra == {"panel": None}:
            continue
        if isinstance(kind, type) and issubclass(kind, Settings):
            yield from setting_options(kind, without=without, defaults=defaults, table=name)
        else:
            yield SettingOption(name=name, field=field, default=defaults.get(name, field.default), table=table)


def takes(
    model: type[Settings], *, without: Collection[str] = (), defaults: Mapping[str, Any] = _AS_DECLARED
) -> Callable[[Command], Command]:
    """Give a command an option for each field of ``model``. It receives what was typed, over ``defaults``, as
    ``settings``; its other parameters are its own."""
    options = tuple(setting_options(model, without=without, defaults=defaults))

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_settings(**arguments: Any) -> None:
            typed = {option.name: option.read(arguments.pop(option.name)) for option in options}
            command(settings={**defaults, **_nested(options, typed)}, **arguments)

        vars(with_settings)["__signature__"] = _signature(command, options)
        return with_settings

    return decorate


def _signature(command: Command, options: Sequence[SettingOption]) -> inspect.Signature:
    """Panel by panel, and in each the command's own parameters before the generated ones."""
    own = inspect.signature(command)
    kept = [p.replace(kind=p.KEYWORD_ONLY) for name, p in own.parameters.items() if name != "settings"]
    return own.replace(parameters=sorted([*kept, *(option.parameter() for option in options)], key=_place))


def _place(parameter: inspect.Parameter) -> int:
    """Of a parameter's panel in `--help`; before them all stands what is in none."""
    panels = [info.rich_help_panel for info in get_args(parameter.annotation)[1:] if isinstance(info, ParameterInfo)]
    return next((place for place, panel in enumerate(PANELS) if panel in panels), -1)


def _nested(options: Sequence[SettingOption], typed: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed, as the class reads it: fields of a table lie in that table."""
    tables = {option.table for option in options}
    inside = {
        table: given(**{option.name: typed[option.name] for option in options if option.table == table})
        for table in tables
    }
    return given(**inside.pop(None, {}), **{table: values for table, values in inside.items() if table is not None})


def _without_none(annotation: Any) -> Any:
    kinds = get_args(annotation)
    return next(kind for kind in kinds if kind is not NoneType) if NoneType in kinds else annotation

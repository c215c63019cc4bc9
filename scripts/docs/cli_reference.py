"""The command-line reference, read off the Typer application: what `--help` says is what the site says."""

import re
import warnings
from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Typer 0.20, which Flower pins, beside Click 8.5
    import click
    import typer.main

    from secure_sapefl.cli.app import app

_PLACE = re.compile("<!-- commands: .* -->")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return _PLACE.sub(lambda _: reference(), markdown) if page.file.src_uri == "reference/cli.md" else markdown


def reference() -> str:
    return "\n".join(section(name, command) for name, command in commands("secure-sapefl", root()))


def root() -> click.Command:
    return typer.main.get_command(app)


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with the words that call it, in the order of `--help`."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word, child in inner.items():
        yield from commands(f"{name} {word}", child)


def section(name: str, command: click.Command) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *(_word(p) for p in arguments)])
    parts = [f"## {name.removeprefix('secure-sapefl ')}", f"```text\n{usage}\n```", _help(command)]
    rows = [(f"`{_word(p)}`", p) for p in arguments] + [(_flags(p), p) for p in options]
    if rows:
        parts.append("| option | meaning |\n|---|---|\n" + "\n".join(f"| {flags} | {_cell(p)} |" for flags, p in rows))
    return "\n\n".join(parts) + "\n"


def _word(parameter: click.Parameter) -> str:
    return parameter.make_metavar(click.Context(click.Command("x")))


def _flags(option: click.Parameter) -> str:
    names = ", ".join(f"`{flag}`" for flag in option.opts)
    kind = "" if getattr(option, "is_flag", False) else f" *{_escaped(_values(option))}*"
    return names + kind


def _values(option: click.Parameter) -> str:
    """What stands after the flag; choices are listed in the other column, or escaped here."""
    return (getattr(option, "metavar", None) or str(option.type.name)).replace("|", "\\|").lower()


def _cell(parameter: click.Parameter) -> str:
    text = (getattr(parameter, "help", None) or "").replace("|", "\\|").replace("\n", " ")
    default = parameter.default
    shown = getattr(parameter, "show_default", False) and default not in (None, False, [], ()) and not callable(default)
    choices = getattr(parameter.type, "choices", ())
    more = [f"One of {', '.join(f'`{choice}`' for choice in choices)}."] if choices else []
    more += [f"Default: `{default}`."] if shown else []
    return " ".join([_escaped(text), *more])


def _help(command: click.Command) -> str:
    """The docstring; its examples, a line each in backticks, become a block to copy."""
    text = (command.help or "").strip()
    opening, _, examples = text.partition("Examples:")
    lines = re.findall(r"`(.+?)`", examples)
    block = "\n\n```text\n" + "\n".join(lines) + "\n```" if lines else ""
    return _escaped(opening.strip()) + block


def _escaped(text: str) -> str:
    """Angle brackets and square ones are meant as they are."""
    return re.sub(r"([\[\]<>])", r"\\\1", text)

"""The tables of settings, read off the fields of `Config` and of a study file: a new field is a new row."""

import re
from itertools import groupby

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from secure_sapefl.cli.setting_options import PANELS, SettingOption, setting_options
from secure_sapefl.config import Config, Plan, Settings
from secure_sapefl.study.settings import StudySettings

_MODELS: dict[str, type[Settings]] = {"Config": Config, "StudySettings": StudySettings}
_PLACE = re.compile(r"<!-- settings of (\w+): .* -->")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return _PLACE.sub(lambda found: tables(_MODELS[found[1]]), markdown)


def tables(model: type[Settings]) -> str:
    """One table a panel of `--help`."""
    options = sorted(setting_options(model), key=lambda option: PANELS.index(option.panel))
    return "\n\n".join(_table(panel, list(rows)) for panel, rows in groupby(options, key=lambda option: option.panel))


def _table(panel: str, options: list[SettingOption]) -> str:
    header = "| key | option | values | default | meaning |\n|---|---|---|---|---|\n"
    return f"### {panel}\n\n{header}" + "\n".join(_row(option) for option in options)


def _row(option: SettingOption) -> str:
    key = option.name if option.table is None else f"{option.table}.{option.name}"
    values = ", ".join(text for text in ((option.metavar or "yes or no").strip("[]"), option.bounds) if text)
    default = f"`{option.shown_default}`" if option.shown_default else ""
    both = "" if option.name not in Plan.model_fields else " ◆"
    cells = (f"`{key}`{both}", f"`{option.flag}`", values, default, option.field.description or "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

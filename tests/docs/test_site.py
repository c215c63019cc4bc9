"""The documentation site builds without a warning, loads nothing from elsewhere, and says what the code says."""

import importlib.util
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from secure_sapefl.cli.setting_options import setting_options
from secure_sapefl.config import Config
from secure_sapefl.study.settings import StudySettings
from secure_sapefl.transport.metrics import SERVER_GAUGES, SITE_GAUGES

pytest.importorskip("mkdocs", reason="MkDocs is not installed: the documentation site was not built")
pytest.importorskip("latex2mathml", reason="latex2mathml is not installed: the documentation site was not built")

ROOT = Path(__file__).parents[2]
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src", "use": "href"}


def hook(name):
    """A hook of scripts/docs, which is no package, as MkDocs loads it."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "scripts" / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Loads(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        leads = tag == "link" and values.get("rel") in ("canonical", "next", "prev")
        if tag in LOADS and not leads and values.get(LOADS[tag]):
            self.found.append(values[LOADS[tag]])


def test_no_page_loads_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        parser = Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.found
        assert [target for target in parser.found if re.match(r"(https?:)?//", target)] == [], page.name


def test_no_style_loads_anything_from_elsewhere(site):
    for sheet in site.rglob("*.css"):
        for target in re.findall(r"url\(([^)]*)\)|@import ([^;]*)", sheet.read_text(encoding="utf-8")):
            assert not re.match(r"[\"']?(https?:)?//", "".join(target)), sheet.name


def test_equations_need_no_script(site):
    html = (site / "algorithms.html").read_text(encoding="utf-8")
    assert html.count("<math") > 30
    assert 'display="block"' in html
    assert "arithmatex" not in html
    assert "\\frac" not in html


def test_the_picture_of_a_round_is_part_of_its_page(site):
    html = (site / "concepts.html").read_text(encoding="utf-8")
    assert '<svg role="img" aria-label="One round between the server and a site' in html


def test_every_command_and_option_is_in_the_reference(site):
    cli = hook("cli_reference")
    html = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    found = dict(cli.commands("secure-sapefl", cli.root()))
    assert {"secure-sapefl simulate", "secure-sapefl report", "secure-sapefl keys cohort"} <= found.keys()
    for name, command in found.items():
        assert name in html
        options = [parameter.opts[0] for parameter in command.params if parameter.param_type_name == "option"]
        assert [option for option in options if f"<code>{option}</code>" not in html] in ([], ["--help"])


def test_every_setting_is_in_the_reference_with_its_help(site):
    html = unescape((site / "reference" / "settings.html").read_text(encoding="utf-8"))
    for model in (Config, StudySettings):
        for option in setting_options(model):
            assert f"<code>{option.flag}</code>" in html
            assert re.sub(r"`(.*?)`", r"<code>\1</code>", option.field.description) in html
            assert option.shown_default in html
    assert "<code>privacy.epsilon</code>" in html


def test_the_python_reference_documents_what_it_names(site):
    html = (site / "reference" / "python.html").read_text(encoding="utf-8")
    named = re.findall(r"^::: ([\w.]+)$", (ROOT / "docs" / "reference" / "python.md").read_text(), re.MULTILINE)
    assert named
    for name in named:
        assert f'id="{name}"' in html


def test_every_page_of_docs_is_in_the_menu_once():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2].partition("\nplugins:")[0]
    for page in (ROOT / "docs").rglob("*.md"):
        assert menu.count(f": {page.relative_to(ROOT / 'docs')}\n") == 1, f"{page.name} in the nav of mkdocs.yml"


def test_links_out_of_the_docs_become_text_or_pages():
    outside = hook("outside")
    files = type("Files", (), {"get_file_from_path": lambda self, path: path == "privacy.md" or None})()
    within = lambda text: outside.links_within_the_site(text, Path("docs"), "a.md", files)  # noqa: E731
    assert within("[the recipe](../crypto/README.md#tags)") == "[the recipe](crypto.md#tags)"
    assert within("[`a.py`](../tests/a.py) and [b](../b.py)") == "`a.py` and `b`"
    assert within("[privacy](privacy.md#limits)") == "[privacy](privacy.md#limits)"
    assert within("[out](https://example.org/x)") == "[out](https://example.org/x)"
    assert outside.links_within_the_site("[p](docs/privacy.md)", Path(), "index.md", files) == "[p](privacy.md)"
    example, own = Path("examples/imaging"), "examples/imaging.md"
    written = outside.links_within_the_site(
        "[d](../../docs/privacy.md) ![b](blood.png) [x](run.py)", example, own, files
    )
    assert written == "[d](../privacy.md) ![b](imaging/blood.png) `x`"


def test_every_example_is_on_the_site_with_its_pictures(site):
    examples = sorted((ROOT / "examples").glob("*/README.md"))
    assert len(examples) >= 3
    for readme in examples:
        html = (site / "examples" / f"{readme.parent.name}.html").read_text(encoding="utf-8")
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", readme.read_text(encoding="utf-8")):
            assert f'src="{readme.parent.name}/{picture}"' in html
            assert (site / "examples" / readme.parent.name / picture).is_file()


def test_every_metric_is_on_the_page_of_operations_with_its_help(site):
    html = unescape((site / "operations.html").read_text(encoding="utf-8"))
    for gauge in (*SERVER_GAUGES, *SITE_GAUGES):
        assert f"<td><code>{gauge.name}</code></td>\n<td>{gauge.text}</td>" in html

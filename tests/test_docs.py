"""Documentation that runs.

Every `bash` and `python` block of README.md, docs/*.md, the examples' READMEs and the other documents is executed, in
order, in one folder a document. A block that cannot run here says why in the line above it: `<!-- not run: reason -->`.

* `secure-sapefl ...` runs in this process. A simulation is cut to one round of one epoch, on a part of large data, a
  comparison to one seed as well, and charts are not rendered, so that the words are tested and not the machine.
* `make target` must be a target, and the `secure-sapefl` commands of its recipe are run.
* `python examples ...` is run by tests/examples.
* Python blocks run as scripts of nothing but themselves, as readers will run them: without an `if __name__` guard.
  Those of the READMEs have a process of their own, in which a study starts its workers; others need not load torch.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.cli.app import main
from tests.unrendered import unrendered

__all__ = ["unrendered"]
pytestmark = pytest.mark.usefixtures("unrendered")
ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
OTHERS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "crypto/README.md")]
DOCUMENTS = [*OTHERS, *sorted((ROOT / "docs").rglob("*.md")), *EXAMPLES]
FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
RUNNABLE = ("secure-sapefl ", "make ")
SMALLER = ("--rounds", "1", "--local-epochs", "1", "--workers", "0", "--rows", "2000")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    reason: str | None

    @property
    def commands(self) -> list[list[str]]:
        """The lines of a shell block that begin with a command of ours, as arguments; comments are for the reader."""
        lines = [line for line in self.text.splitlines() if line.startswith(RUNNABLE)]
        return [shlex.split(line, comments=True) for line in lines]


def blocks(document: Path) -> Iterator[Block]:
    for found in FENCE.finditer(document.read_text(encoding="utf-8")):
        yield Block(found["language"], found["text"], found["reason"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader might stand: beside the examples, with a data file of their own in either format."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    rng = np.random.default_rng(0)
    X, y, group = rng.normal(size=(80, 2)), rng.integers(0, 2, 80), np.repeat(["a", "b", "c", "d"], 20)
    np.savez(tmp_path / "mine.npz", X=X, y=y, group=group)
    rows = [f"{a},{b},{label},{site}" for (a, b), label, site in zip(X, y, group, strict=True)]
    (tmp_path / "patients.csv").write_text("\n".join(["age,pressure,outcome,hospital", *rows]) + "\n")
    return tmp_path


def smaller(command: list[str]) -> list[str]:
    match command[1]:
        case "simulate" if "--resume" not in command:
            return [*command, *SMALLER]
        case "compare":
            return [*command, "--rounds", "1", "--local-epochs", "1", "--seeds", "1", "--jobs", "1"]
        case _:
            return command


def recipe(target: list[str]) -> list[list[str]]:
    """What make would run of our own commands."""
    dry = subprocess.run(["make", "--dry-run", *target], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [shlex.split(line) for line in dry.stdout.splitlines() if "bin/secure-sapefl " in line]
    return [["secure-sapefl", *words[1:]] for words in lines]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], str]:
    """Runs a command and returns what it prints. Drawing a report after every simulation is left to other tests."""
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda folder: None)

    def execute(command: list[str]) -> str:
        if command[0] == "make":
            return "".join(execute(line) for line in recipe(command[1:]))
        monkeypatch.setattr(sys, "argv", smaller(command))
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capsys.readouterr()
        assert not exit_.value.code, f"{shlex.join(command)}: {captured.err}"
        return captured.out

    return execute


@pytest.fixture
def script(folder: Path) -> Callable[[Block, Path], None]:
    def execute(block: Block, document: Path) -> None:
        (folder / "example.py").write_text(block.text)
        if document in OTHERS:
            subprocess.run([sys.executable, "example.py"], cwd=folder, check=True, capture_output=True)
        else:
            runpy.run_path("example.py", run_name="__main__")

    return execute


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_the_documents_show_runs(
    document: Path, run: Callable[[list[str]], str], script: Callable[[Block, Path], None]
) -> None:
    if document in EXAMPLES and "SAPEFL_DATA" not in os.environ:
        pytest.skip("set SAPEFL_DATA to a folder that holds heart, har, pneumonia and blood")
    for block in blocks(document):
        if block.reason is not None:
            continue
        if block.language == "python":
            script(block, document)
        for command in block.commands if block.language == "bash" else []:
            run(command)


def test_the_first_screen_shows_what_the_command_prints(folder: Path, run: Callable[[list[str]], str]) -> None:
    command, shown = list(blocks(ROOT / "README.md"))[:2]
    assert command.text == "make simulate\n"
    names = re.findall(r"^│ (\S.*?) +│", shown.text, re.MULTILINE)
    assert re.findall(r"^│ (\S.*?) +│", run(["make", "simulate"]), re.MULTILINE) == names


def test_every_method_the_readme_promises_is_there() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Methods")[2].partition("\n## ")[0]
    promised = re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)
    assert {"sapefl", "local", "fedavg"} <= set(promised) <= set(ALGORITHMS)


def test_no_table_is_empty() -> None:
    """A header without a row is a result that was never filled in."""
    for document in (*DOCUMENTS, ROOT / "CHANGELOG.md"):
        lines = [*document.read_text(encoding="utf-8").splitlines(), ""]
        rules = [number for number, line in enumerate(lines) if re.fullmatch(r"\|[-:| ]+\|", line)]
        empty = [lines[number - 1] for number in rules if not lines[number + 1].startswith("|")]
        assert empty == [], f"{document.name} has a table without rows"


def test_what_encryption_costs_is_said_alike() -> None:
    """In both places the share that follows from the measured round, to the whole percent its figures allow."""
    performance, faq = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("performance.md", "faq.md"))
    plain, encrypted = (
        float(re.findall(rf"^\| {name} \| ([\d.]+) \|", performance, re.MULTILINE)[0]) for name in ("plaintext", "ckks")
    )
    said = [re.findall(r"(\d+) % of the encrypted\sround", text) for text in (performance, faq)]
    assert len(said[0]) == 1
    assert said[0] == said[1]
    assert abs(int(said[0][0]) - 100 * (1 - plain / encrypted)) < 1


COLLUSION = r"every update and every personal model of every site,? (of all rounds[^,]*, )?past (rounds|ones) included"


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md", "docs/faq.md", "docs/threat-model.md"])
def test_what_a_server_and_one_site_read_together_is_not_understated(name: str) -> None:
    """It is more than "what that site can read": the server has the frames of all sites, the site the one key."""
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    assert re.search(COLLUSION, text)
    assert "reads what that site can read" not in text
    assert "read what that site can read" not in text


@pytest.mark.parametrize("name", ["README.md", "docs/quick-start.md", "examples/deployment/loopback.sh"])
def test_nobody_is_promised_a_time(name: str) -> None:
    """What it takes depends on what else the machine does. A run's own table may show what it took."""
    text = FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    assert re.findall(r"(?i)(?:\ba|\d|few|under|about) (?:seconds?|minutes?)\b", text) == []


def test_links_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_every_line_of_a_shell_block_is_run_or_the_block_says_why_not() -> None:
    run_here = (*RUNNABLE, "python examples ", "#")
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.language == "bash" and block.reason is None:
                missed = [line for line in block.text.splitlines() if line and not line.startswith(run_here)]
                assert missed == [], f"{document.name}: nobody runs this"


def test_no_command_hides_in_an_unmarked_block() -> None:
    """A block in another language, or none, would not be run."""
    for document in DOCUMENTS:
        for block in blocks(document):
            assert block.language == "bash" or block.reason or not block.commands, f"{document.name}: {block.text}"


@pytest.mark.parametrize("name", ["architecture.md", "paths.svg"])
def test_the_architecture_names_files_that_are_there(name: str) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    files = set(re.findall(r"\b[a-z_]+(?:/[a-z_]+)+\.py\b", text)) - {"tests/test_imports.py"}
    assert len(files) > 12
    roots = (ROOT / "secure_sapefl", ROOT / "crypto")
    assert [file for file in sorted(files) if not any((root / file).exists() for root in roots)] == []


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_prose_is_at_most_120_characters_wide(document: Path) -> None:
    """So that a change can be read line by line. Code, tables, formulas and pictures cannot be broken."""
    prose = FENCE.sub("", document.read_text(encoding="utf-8"))
    lines = [line for line in prose.splitlines() if not line.startswith(("|", "$$", "![", "    ", "<!--"))]
    assert [line for line in lines if len(line) > 120] == []

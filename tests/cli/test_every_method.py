"""Every method × protection, and × joint keys, through the command line, in every form its result is shown in.

Each cell is run once, with everything on, and resumed once; the tests look at what that left. Charts are drawn once a
page but not rendered into pixels or SVG, which is the same for all methods and has its own tests.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from secure_sapefl.algorithms.base import Homomorphic
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.cli.app import app
from secure_sapefl.engine.events import Observer, RoundClosed, RunEvent
from secure_sapefl.report import live
from secure_sapefl.report.charts.drawing import Chart

ROUNDS = 2
TINY = (
    "--clients", "4", "--late-clients", "1", "--rounds", str(ROUNDS), "--local-epochs", "1", "--kappa", "5",
    "--workers", "0", "--threads", "1", "--data-option", "rows=120", "--data-option", "classes=3",
)  # fmt: skip
KINDS = {
    "plaintext": ("--protection", "plaintext"),
    "ckks": ("--protection", "ckks"),
    "joint": ("--protection", "ckks", "--keys", "joint"),
}


@dataclass(frozen=True)
class Shown:
    """What one method under one protection shows to whom."""

    method: str
    json: str
    progress: str  # stderr of the first run
    quiet: str  # stderr of the resumed run
    table: str
    live: str  # the page after the first round
    report: str
    card: str
    resumed: dict[str, Any]

    @property
    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = json.loads(self.json, parse_constant=_no_constant)
        return summary

    @property
    def has_global_model(self) -> bool:
        return ALGORITHMS[self.method].homomorphic is Homomorphic.WEIGHTED_SUM


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def draw_only(chart: Chart, *_: object) -> str:
    chart.draw(Figure())
    return ""


@pytest.fixture(scope="module", params=[f"{m}-{p}" for m in ALGORITHMS for p in KINDS])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    method, _, kind = request.param.rpartition("-")
    folder = tmp_path_factory.mktemp(request.param)
    whole, half, card = folder / "whole", folder / "half", folder / "card.md"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secure_sapefl.report.view.to_svg", draw_only)
        patch.setattr("secure_sapefl.report.run_report.save_png", lambda *_: None)
        with watched(whole, half) as pages:
            command = ("--method", method, *KINDS[kind], *TINY, "--out", str(whole))
            first = invoke("simulate", *command, "--live", "--format", "json")
        patch.setattr("secure_sapefl.report.run_report.write_report", lambda _: None)
        again = invoke("simulate", "--resume", str(half), "--quiet")
        invoke("report", str(whole), "--model-card", "--out", str(card))
    return Shown(
        method=method,
        json=first.stdout,
        progress=first.stderr,
        quiet=again.stderr,
        table=again.stdout,
        live="".join(pages),
        report=(whole / "report.html").read_text(encoding="utf-8"),
        card=card.read_text(encoding="utf-8"),
        resumed=json.loads((half / "summary.json").read_text(encoding="utf-8")),
    )


def invoke(*arguments: str) -> Any:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


@contextmanager
def watched(run: Path, half: Path) -> Iterator[list[str]]:
    """The live page after the first round, and the run's folder then, as a kill would leave it."""
    pages: list[str] = []
    serve_live = live.serve_live

    @contextmanager
    def serve(label: str) -> Iterator[tuple[str, Observer]]:
        with serve_live(label) as (address, hear):

            def look(event: RunEvent) -> None:
                hear(event)
                if isinstance(event, RoundClosed) and not pages:
                    shutil.copytree(run, half)
                    with urlopen(address) as answer:
                        pages.append(answer.read().decode())

            yield address, look

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "serve_live", serve)
        yield pages


def words(page: str) -> str:
    """What a reader sees of a page."""
    body = re.sub(r"<(script|style|pre)\b.*?</\1>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", body))


def test_json_is_strict_and_whole(shown: Shown) -> None:
    assert shown.summary["method"] == shown.method
    assert shown.summary["keys"] in ("shared", "joint")
    assert len(shown.summary["accuracy"]["per_client"]) == 3
    assert shown.summary["late_clients"]["accuracy"]["mean"] is not None


def test_progress_tells_every_round(shown: Shown) -> None:
    rounds = re.findall(rf"^round (\d)/{ROUNDS}  accuracy 0\.\d+  AUC \d\.\d+", shown.progress, re.MULTILINE)
    assert rounds == ["1", "2"]
    assert "nan" not in shown.progress
    assert "all scores are zero" not in shown.progress


def test_a_resumed_run_ends_in_the_same_numbers(shown: Shown) -> None:
    differs = {key for key, value in shown.summary.items() if shown.resumed[key] != value}
    assert differs <= {"seconds"}


def test_quiet_says_nothing(shown: Shown) -> None:
    assert shown.quiet == ""


def test_the_table_has_its_rows_and_no_holes(shown: Shown) -> None:
    assert "accuracy, own models" in shown.table
    assert ("none was trained" in shown.table) != shown.has_global_model
    assert not re.search(r"\bnan\b|\bNone\b|undefined", shown.table)
    assert "unchanged" not in shown.table


def test_the_live_page_follows_the_run(shown: Shown) -> None:
    assert "Round 1 of 2 is done" in shown.live
    assert f"{ALGORITHMS[shown.method].title} on synthetic" in shown.live
    assert not re.search(r"\bnan\b|\bNone\b", words(shown.live))


def test_the_report_says_what_the_run_was(shown: Shown) -> None:
    text = words(shown.report)
    assert ALGORITHMS[shown.method].title in text
    assert "Sites that joined late" in text
    assert not re.search(r"\bnan\b|\bNone\b", text)
    assert ("trains no global model" in text) != shown.has_global_model
    assert ("A site's update" in text) == shown.has_global_model


def test_the_model_card_says_what_there_is(shown: Shown) -> None:
    assert shown.card.startswith(f"# Model card: {ALGORITHMS[shown.method].title}")
    assert not re.search(r"\bnan\b|\bNone\b", shown.card)
    assert ("global model" in shown.card.replace("no global model", "")) == shown.has_global_model

"""`make evidence`: the runs behind tables of docs/reproducing-the-paper.md and docs/privacy.md, for days if need be.

    python scripts/evidence.py                   every study, the cheap ones first
    python scripts/evidence.py synthetic har     these only; --jobs 1 leaves a core to others
    python scripts/evidence.py --list            no run: how far each study is, and its command
    python scripts/evidence.py --page            no run: write the tables of what there is into the pages, and a picture
    python scripts/evidence.py --costs           what a round of each method takes, for that picture; minutes

A study is one `secure-sapefl compare` or `budget`. What a run found is kept in `benchmarks/evidence/STUDY.json`, with
command, version and commit, within a minute after the run ended. Whoever checks the file out goes on from there: its
runs are put back where the command looks for finished ones, and it takes those that are what it would compute. A run of
which a newer one is there (another default, say) is dropped; delete a line to have it computed again. A `budget` is
asked for a part first, then for more: its tables and its figure are kept whenever a part is whole.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import evidence_budget
from evidence_choices import ADVICE, DEFAULTS, Choice
from evidence_kept import Kept
from evidence_page import best_first, finished, written
from evidence_picture import Costs, costs, picture

from secure_sapefl import __version__
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.report.charts.drawing import save_png

ROOT: Final = Path(__file__).parents[1]
KEPT: Final = ROOT / "benchmarks" / "evidence"
WORK: Final = ROOT / "runs" / "evidence"
PAGE: Final = ROOT / "docs" / "reproducing-the-paper.md"
PRIVACY_PAGE: Final = ROOT / "docs" / "privacy.md"
FIGURES: Final = ROOT / "docs" / "figures"
LOOK_EVERY: Final = 60  # seconds
DIGITS: Final = 6
STRONGEST: Final = 4  # published methods that are tuned beside ours
OURS: Final = ("fedavg-ft-plus", "sapefl-plus")
_ENDED: Final = 143  # what a shell calls a process that was asked to end
SETTINGS: Final = ("lr", "local_epochs", "server_momentum", "options")
BUDGET: Final = ("dp_epsilon", "dp_noise", "dp_unit")
SITES: Final = ("client_names", "test_rows", "source", "partition", "shown")  # the same for all methods


@dataclass(frozen=True, kw_only=True)
class Study:
    name: str
    arguments: str
    experiment: Literal["compare", "budget"] = "compare"
    tuned_after: str | None = None  # the study that says who is strong enough to be tuned

    @property
    def kept(self) -> Path:
        return KEPT / f"{self.name}.json"

    @property
    def out(self) -> Path:
        return WORK / self.name

    @property
    def cells(self) -> Path:
        return self.out / "cells"

    @property
    def command(self) -> str:
        return f"secure-sapefl {self.experiment} {self.arguments} --out {os.path.relpath(self.out, ROOT)}"

    @property
    def parts(self) -> tuple[str, ...]:
        """What is added to the command, one after another: each finds the runs of those before it finished."""
        return ("",) if self.experiment == "compare" else evidence_budget.parts()


def _studies() -> tuple[Study, ...]:
    paper = "--partition dirichlet --kappa 0.3 --clients 100 --rounds 100 --seeds 3"
    faster = f"{paper} --server-momentum 0.7"
    groups = "--partition clustered --rounds 100 --seeds 3 --data-option flip_y=0"
    unsplit = ",".join(name for name, method in ALGORITHMS.items() if not method.splits_models)
    cheap = {
        "synthetic": f"--dataset synthetic {paper}",
        "har": f"--dataset har {paper}",
        "heart": f"--dataset heart --model linear --methods {unsplit} --rounds 100 --seeds 3",
        "clustered-20": f"--dataset synthetic {groups} --kappa 5 --clients 20 --rows 4000",
        "clustered-40": f"--dataset synthetic {groups} --kappa 5 --clients 40 --rows 8000",
        "clustered-20-skewed": f"--dataset synthetic {groups} --kappa 0.5 --clients 20 --rows 4000",
        "clustered-40-skewed": f"--dataset synthetic {groups} --kappa 0.5 --clients 40 --rows 8000",
        "few-rows": f"--dataset synthetic --rows 4000 {paper}",
        "accgyro": f"--dataset accgyro {paper}",
        "har-persons": "--dataset har --partition natural --rounds 100 --seeds 3",
        "synthetic-momentum": f"--dataset synthetic {faster}",
        "har-momentum": f"--dataset har {faster}",
    }
    image = "--partition dirichlet --kappa 0.3 --clients 50 --rows 4000 --rounds 30 --seeds 2"
    images = {name: f"--dataset {name} {image}" for name in ("mnist", "fmnist", "emnist", "cifar10", "cifar100")}
    rows = "--partition dirichlet --clients 20 --rounds 15 --local-epochs 3 --rows 4000 --seed 300 --seeds 2"
    defaults = {
        f"defaults-{name}": f"--dataset {name} {rows} --validation --methods {_values(DEFAULTS)}"
        for name in ("synthetic", "har")
    }
    asked = f"--rounds 60 --seed 300 --seeds 2 --validation --methods {_values(ADVICE)}"
    advice = {
        f"advice-{name}": f"--dataset {where} {asked}"
        for name, where in {
            "synthetic": "synthetic --partition dirichlet --kappa 0.3 --clients 100",
            "few-rows": "synthetic --rows 4000 --partition dirichlet --kappa 0.3 --clients 100",
            "har": "har --partition dirichlet --kappa 0.3 --clients 100",
            "groups": "synthetic --partition clustered --kappa 5 --clients 40 --rows 8000 --data-option flip_y=0",
            "groups-skewed": "synthetic --partition clustered --kappa 0.5 --clients 40 --rows 8000 "
            "--data-option flip_y=0",
        }.items()
    }
    every = defaults | advice | cheap | images
    untuned = tuple(Study(name=name, arguments=arguments) for name, arguments in every.items())
    tuned = tuple(
        Study(name=f"{name}-tuned", arguments=f"{cheap[name]} --tune", tuned_after=name)
        for name in ("synthetic", "har", "clustered-40")
    )
    budgets = tuple(
        Study(name=name, arguments=arguments, experiment="budget")
        for name, arguments in evidence_budget.ARGUMENTS.items()
    )
    return untuned + tuned + budgets


def _values(choice: Choice) -> str:
    return ",".join(f"{method}:{option}={value}" for method, option, value in choice.candidates())


STUDIES: Final = _studies()


def this_commit() -> str:
    """With a star where code differs from it; results that were added since are none."""
    head, changed = (
        subprocess.run(["git", *words], cwd=ROOT, text=True, capture_output=True, check=True).stdout.strip()  # noqa: S603, S607 - git, as written here
        for words in (["rev-parse", "--short=10", "HEAD"], ["status", "--porcelain", "secure_sapefl", "crypto"])
    )
    return f"{head}*" if changed else head


def read(study: Study) -> Kept:
    kept: Kept = json.loads(study.kept.read_text()) if study.kept.exists() else {"command": "", "sites": {}, "runs": []}
    return kept


def write(study: Study, kept: Kept) -> None:
    """A line a run, so that a difference can be read."""
    head = json.dumps({key: value for key, value in kept.items() if key != "runs"})
    runs = ",\n".join(json.dumps(run) for run in kept["runs"])
    study.kept.parent.mkdir(parents=True, exist_ok=True)
    study.kept.write_text(f'{head[:-1]},\n"runs": [\n{runs}\n]}}\n')


def gather(study: Study, command: str, commit: str) -> None:
    """Keep what was finished since, by code as of ``commit``. A run that a newer one stands for is gone for good."""
    kept = read(study)
    known = {run["cell"] for run in kept["runs"]}
    fresh = [path for path in study.cells.glob("*.json") if path.stem not in known]
    for path in sorted(fresh, key=lambda path: path.stat().st_mtime_ns):
        cell = json.loads(path.read_text())
        run, sites = compact(path.stem, cell["cell"], cell["result"])
        run["commit"] = commit
        kept["sites"][run["sites"]] = sites
        for old in [one for one in kept["runs"] if _stands_for(one) == _stands_for(run)]:
            kept["runs"].remove(old)
            (study.cells / f"{old['cell']}.json").unlink(missing_ok=True)
        kept["runs"].append(run)
    if fresh:
        write(study, {**kept, "command": command})


def compact(name: str, cell: dict[str, Any], result: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run as it is kept, and what it has in common with other methods' runs."""
    config = cell["config"]
    settings = {key: config[key] for key in SETTINGS + BUDGET if key in config}
    run = {
        "cell": name,
        "method": config.get("method", "sapefl"),
        "seed": config.get("seed", 0),
        "judged_on": cell["judged_on"],
        "rounds": config.get("rounds"),
        "settings": settings,
        "sites": f"{cell['judged_on']}-{config.get('seed', 0)}",
        "version": cell["version"],
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(result["seconds"]),
        **{key: _short(result[key]) for key in ("main", "second")},
    }
    return run, {key: result[key] for key in SITES}


def restore(study: Study) -> None:
    """Put runs that are kept where `compare` finds them."""
    kept = read(study)
    for run in kept["runs"]:
        path = study.cells / f"{run['cell']}.json"
        if not path.exists():
            numbers = {key: run[key] for key in ("main", "second", "seconds")}
            found = numbers | {"trajectory": [run["main"]]} | kept["sites"][run["sites"]]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"result": found}))


def compute(study: Study, jobs: int | None) -> int:
    """All runs that are missing; the exit code of the command."""
    restore(study)
    chosen = "" if study.tuned_after is None else f" --methods {','.join(strongest(study.tuned_after))}"
    for part in study.parts:
        command = f"{study.command}{chosen}{part}"
        if failed := _compute(study, command, jobs):
            return failed
        if study.experiment == "budget":
            keep_tables(study, command)
    return 0


def _compute(study: Study, command: str, jobs: int | None) -> int:
    commit = this_commit()
    words = shlex.split(command)[1:] + ([] if jobs is None else ["--jobs", str(jobs)])
    process = subprocess.Popen([sys.executable, "-m", "secure_sapefl", *words], cwd=ROOT)  # noqa: S603 - our own command
    try:
        while process.poll() is None:
            try:
                process.wait(LOOK_EVERY)
            except subprocess.TimeoutExpired:
                gather(study, command, commit)
    finally:
        process.terminate()
        process.wait()
        gather(study, command, commit)
    return process.returncode


def keep_tables(study: Study, command: str) -> None:
    """What `budget` made of its runs."""
    tables = evidence_budget.tables_of((study.out / "budget.md").read_text())
    write(study, {**read(study), "finished": {"command": command, "tables": tables}})
    shutil.copyfile(study.out / "budget.png", FIGURES / f"{study.name}.png")


def strongest(name: str) -> list[str]:
    """The first few of a study that is finished, and ours."""
    found = best_first(read(next(study for study in STUDIES if study.name == name)))
    if len(found) < len(ALGORITHMS):
        sys.exit(f"{name} is not finished, and says who is tuned. Run it first: python scripts/evidence.py {name}")
    return [*[method for method in found if method not in OURS][:STRONGEST], *OURS]


def progress(study: Study) -> str:
    kept = read(study)
    runs = [run for run in kept["runs"] if run["judged_on"] == "test"]
    seconds = sum(run["seconds"] for run in kept["runs"])
    commits = sorted({run["commit"] for run in kept["runs"]})
    return f"{study.name}: {len(runs)} runs, {seconds} s, made by {', '.join(commits) or 'nobody'}\n  {study.command}"


def write_pages(kept: dict[str, Kept]) -> None:
    """The tables and, where a study is finished and costs are known, the picture."""
    if finished(kept):
        if not (path := KEPT / "costs.json").exists():
            sys.exit("The picture needs what a round costs: python scripts/evidence.py --costs")
        known: Costs = json.loads(path.read_text())["methods"]
        save_png(picture(kept, known), FIGURES / "methods.png")
    PAGE.write_text(written(PAGE.read_text(), kept))
    PRIVACY_PAGE.write_text(evidence_budget.written(PRIVACY_PAGE.read_text(), kept))


def write_costs() -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "costs.json").write_text(json.dumps(costs(__version__, this_commit()), indent=1) + "\n")


def _stands_for(run: dict[str, Any]) -> tuple[object, ...]:
    """Of runs with the same, the newest counts; a trial of tuning is one of its settings."""
    kept = run["settings"]
    told = kept if run["judged_on"] == "validation" else {key: kept[key] for key in BUDGET if key in kept}
    return run["method"], run["seed"], run["judged_on"], run["rounds"], json.dumps(told, sort_keys=True)


def _short(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, DIGITS) for value in values]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="studies; all of them if none is named")
    parser.add_argument("--jobs", type=int, help="runs at a time, a core each; all cores if not given")
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--page", action="store_true", help="run nothing, write the tables")
    parser.add_argument("--costs", action="store_true", help="a short encrypted run of each method instead")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - {study.name for study in STUDIES}:
        parser.error(f"no study is called {', '.join(sorted(unknown))}; --list names all")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_ENDED))  # so that what runs below ends, too
    chosen = [study for study in STUDIES if not given.names or study.name in given.names]
    if given.page:
        write_pages({study.name: read(study) for study in STUDIES})
        return 0
    if given.costs:
        write_costs()
        return 0
    failed = [study.name for study in chosen if not given.list and compute(study, given.jobs)]
    print("\n".join(map(progress, chosen)))
    if failed:
        print(f"Not finished: {', '.join(failed)}. The same command goes on.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

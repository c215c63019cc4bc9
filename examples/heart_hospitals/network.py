"""The heart study as it would run in hospitals: a server and four sites as processes of their own, TLS between them.

The steps are those of `examples/deployment/loopback.sh`, with the hospitals' own records. Afterwards each hospital's
model is asked, by `site predict`, about the patients that were kept from training, and held against the simulation.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from common import QUICK, Setting, progress, run_all, say, table, title
from heart_hospitals.predictions import predictions_of
from heart_hospitals.study import SICK, SIMULATION, judged, percent

from secure_sapefl.config import read_toml
from secure_sapefl.data.datasets.heart import HOSPITALS, PUBLIC
from secure_sapefl.data.fetch import no_progress
from secure_sapefl.data.load import load_table
from secure_sapefl.data.own import Reading
from secure_sapefl.errors import BadInput, SapeflError
from secure_sapefl.report.auc_interval import Ranked, auc_interval
from secure_sapefl.site.data import load_rows
from secure_sapefl.study.file import read_study
from secure_sapefl.transport.flower import free_port

HERE = Path(__file__).parent
LONGEST_SOCKET = 100  # Linux allows 107 bytes
SCRIPT = HERE.parent / "deployment" / "loopback.sh"


def main(setting: Setting) -> None:
    title("Four hospitals, five processes and their relays")
    say("Each hospital has its own folder, key, records, policy and ledger. All traffic passes through TLS.")
    folder, records = setting.out.resolve() / "study", setting.out / "records"
    require_short(folder)
    write_records(records)
    draft = setting.out / "draft.toml"
    draft.write_text(tomli_w.dumps(read_toml(HERE / "draft.toml") | (QUICK if setting.quick else {})), encoding="utf-8")
    run_script(folder, draft, records, setting.out / "loopback.txt")
    config = setting.config(SIMULATION)
    simulated = predictions_of(run_all({"simulation": config}, setting.out)["simulation"].folder)
    title("AUC of each hospital's own model on its own test patients, % (95 % interval over patients)")
    rows = []
    for one in simulated:
        deployed, spent = ask(folder, records, one.site), site(folder, one.site, "status")[0]["epsilon"]
        rows.append((one.site, *(percent(auc_interval([j])) for j in (deployed, judged(one))), f"{spent:.2f}"))
    table(("hospital", "deployed", "simulated", "ε spent"), rows)
    say("""
        The same study on the same patients, with other noise: the hospitals drew theirs so that nobody can draw it
        again. With noise that can be repeated, deployment and simulation end within 0.0001 of each other in every
        weight; tests/processes shows it.
    """)


def require_short(folder: Path) -> None:
    """Before anything is started: a site whose socket cannot be made would leave the others waiting for it."""
    longest = max(len(str(folder / f"{hospital}.run" / "agent.sock")) for hospital in HOSPITALS)
    if longest > LONGEST_SOCKET:
        over = longest - LONGEST_SOCKET
        raise BadInput(f"{folder} is {over} characters too long for the sites' sockets. Choose a shorter --out.")


def write_records(folder: Path) -> None:
    """A CSV file a hospital, as its database would export it: within the study's ranges, empty where unrecorded.

    With all digits: which side of the split a record falls on follows from its exact values.
    """
    found = load_table("heart", Reading(), seed=0, data_dir=None, progress=no_progress)
    assert found.group is not None
    values = np.clip(found.X, [r.low for r in PUBLIC.values()], [r.high for r in PUBLIC.values()])
    folder.mkdir()
    for number, hospital in enumerate(HOSPITALS):
        mine = found.group == number
        with (folder / f"{hospital}.csv").open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow((*PUBLIC, "disease"))
            for row, y in zip(values[mine], found.y[mine], strict=True):
                lines.writerow((*("" if np.isnan(v) else f"{v:.17g}" for v in row), found.class_names[y]))


def run_script(folder: Path, draft: Path, records: Path, transcript: Path) -> None:
    """Its headings are shown as they come, all it says is kept."""
    command = [str(word) for word in (SCRIPT, folder, free_port(), draft, records, *HOSPITALS)]
    with transcript.open("w", buffering=1, encoding="utf-8") as kept, _talking(command) as run:
        for line in run.stdout or ():
            kept.write(line)
            if line.startswith("== "):
                progress(line[3:].rstrip())
    if run.returncode:
        raise SapeflError(f"The study did not end well. {transcript} and the .txt files in {folder} say why.")


def _talking(command: list[str]) -> subprocess.Popen[str]:
    """With all it says on one pipe."""
    pipe, joined = subprocess.PIPE, subprocess.STDOUT
    environ = environment()
    return subprocess.Popen(command, stdout=pipe, stderr=joined, text=True, env=environ)  # noqa: S603 - our own script


def environment() -> dict[str, str]:
    """`secure-sapefl` of this very Python on the PATH; one thread a process, for five of them share the machine."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "OMP_NUM_THREADS": "1", "PATH": path}


def site(folder: Path, hospital: str, *command: str) -> Any:
    """What `secure-sapefl site ...` answers at a hospital."""
    words = ["secure-sapefl", "site", *command, "--home", str(folder / hospital), "--format", "json"]
    done = subprocess.run(words, check=True, capture_output=True, env=environment())  # noqa: S603 - our own command
    return json.loads(done.stdout)


def ask(folder: Path, records: Path, hospital: str) -> Ranked:
    """The hospital's own model about the patients it kept from training."""
    file, study = records / f"{hospital}.csv", read_study(folder / "study.toml")
    rows, answers = load_rows(file, study, hospital), site(folder, hospital, "predict", str(file))
    score = np.array([record["probabilities"][study.data.classes[SICK]] for record in answers["records"]])
    return Ranked(patient=rows.test, positive=rows.table.y[rows.test] == SICK, score=score[rows.test])

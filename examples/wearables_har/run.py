"""Thirty people carried a phone at the belt. Twenty-five train together; what do the five get who join afterwards?"""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from common import Setting, listed, run_all, say, signed, table, title
from matplotlib.figure import Figure

from secure_sapefl.report.charts.drawing import INK, MARKERS, SERIES, Chart, save_png

SIMULATION = Path(__file__).with_name("simulation.toml")
SEEDS = 2
WAYS = {
    "joined": "joined, one round",
    "local_only": "alone",
    "global_model": "common model",
    "global_fine_tuned": "common, trained on",
}
Accuracies = dict[str, list[float]]  # by way, one a person; means over seeds


def main(setting: Setting) -> None:
    title("Twenty-five people train, five come late")
    say("""
        Six activities, from walking to lying, told from two and a half seconds of a phone's sensors. Every person is a
        site of their own. The last five are not there while SAPE-FL trains. Then each starts from the common model, is
        given the sealed models of the others, and takes part in one round; nothing of the others changes. Beside it
        stand three things they could have had without taking part.
    """)
    small = {"clients": 6, "late_clients": 2} if setting.quick else {}
    seeds = range(1 if setting.quick else SEEDS)
    runs = run_all({f"seed{s}": setting.config(SIMULATION, seed=s, **small) for s in seeds}, setting.out)
    late = [run.result.late_clients or {} for run in runs.values()]
    names, found = late[0]["names"], accuracies(late)
    title("Accuracy of those who came late, %")
    rows = [(name, *(f"{100 * found[way][i]:.1f}" for way in WAYS)) for i, name in enumerate(names)]
    table(("person", *WAYS.values()), [*rows, ("mean", *(f"{100 * fmean(found[way]):.1f}" for way in WAYS))])
    stayed = fmean(run.result.accuracy.mean for run in runs.values())
    say(
        f"Own models of the people who trained all along: {100 * stayed:.1f}. A newcomer received "
        f"{late[0]['peers'][0]} models, {late[0]['bytes']['down'] / 1e6:.1f} MB, and sent "
        f"{late[0]['bytes']['up'] / 1e6:.1f} MB, encrypted. 'Alone' and 'trained on' mean as many epochs as the round "
        f"took: {late[0]['epochs']}."
    )
    title("Was it worth joining?")
    for paragraph in verdict(names, found):
        say(paragraph)
    draw(names, found, setting.out / "late.png")


def accuracies(late: list[Mapping[str, Any]]) -> Accuracies:
    blocks = [{"joined": one, **one} for one in late]
    return {way: np.mean([block[way]["accuracy"]["per_client"] for block in blocks], axis=0).tolist() for way in WAYS}


def verdict(names: list[str], found: Accuracies) -> list[str]:
    """One sentence for each thing they could have had instead, then the best on average."""
    said = [_against(way, names, found) for way in WAYS if way != "joined"]
    best = max(WAYS, key=lambda way: fmean(found[way]))
    return [
        *said,
        f"Best on average for these {len(names)}: {WAYS[best]}, {100 * fmean(found[best]):.1f} %. "
        "So few people show a tendency and prove nothing.",
    ]


def _against(way: str, names: list[str], found: Accuracies) -> str:
    gains = [mine - theirs for mine, theirs in zip(found["joined"], found[way], strict=True)]
    up, down = ([name for name, gain in zip(names, gains, strict=True) if sign * gain > 0] for sign in (1, -1))
    ahead = f"ahead for {listed(up)}" if up else "ahead for nobody"
    behind = f"behind for {listed(down)}" if down else "behind for nobody"
    return f"Against '{WAYS[way]}', joining is {ahead}, and {behind}; {signed(fmean(gains))} points on average."


def draw(names: list[str], found: Accuracies, path: Path) -> None:
    def lines(figure: Figure) -> None:
        axes = figure.subplots()
        for i, (way, label) in enumerate(WAYS.items()):
            places = np.arange(len(names)) + (i - 1.5) * 0.15
            axes.plot(places, 100 * np.array(found[way]), MARKERS[i], color=(INK, *SERIES)[i], label=label)
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel="accuracy, %", ylim=(0, 102))
        figure.legend(ncols=4, loc="outside lower center", columnspacing=1, handletextpad=0.2)

    alt = "Accuracy of each person who came late, by four ways of getting a model."
    save_png(Chart(name="late", title="People who joined after training", caption="", alt=alt, draw=lines), path)

"""What a run cost: seconds and bytes."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from secure_sapefl.report import formats
from secure_sapefl.report.charts.drawing import SERIES, Chart
from secure_sapefl.report.charts.rounds import axes_over_rounds, line, numbers
from secure_sapefl.report.phases import seconds_by_phase
from secure_sapefl.report.run import Run


def seconds(run: Run) -> Chart:
    spent = seconds_by_phase(run)
    longest = max(spent, key=lambda phase: spent[phase])

    def draw(figure: Figure) -> None:
        axes: Axes = figure.subplots()
        bars = axes.barh(list(spent), list(spent.values()), color=SERIES[0], height=0.65)
        axes.bar_label(bars, [formats.seconds(value) for value in spent.values()], padding=4)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.15)
        axes.set_xlabel("seconds, all rounds")

    return Chart(
        name="seconds",
        title="Seconds by phase",
        caption="All rounds together. Encryption that ran beside training counts only while it was waited for.",
        alt=f"Bar chart of seconds by phase; the longest is {longest} with {formats.seconds(spent[longest])}.",
        draw=draw,
    )


def traffic(run: Run) -> Chart | None:
    up, down = [r.traffic.up for r in run.rounds], [r.traffic.down for r in run.rounds]
    if not any(up) and not any(down):
        return None

    def draw(figure: Figure) -> None:
        axes = axes_over_rounds(figure, len(up))
        line(axes, numbers(run.rounds), up, "up (site to server)", 0)
        line(axes, numbers(run.rounds), down, "down (server to site)", 1)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: formats.size(value)))
        figure.legend(loc="outside lower center", ncols=2)

    return Chart(
        name="bytes",
        title="Bytes per site and round",
        caption="What one site of a round sends and receives on average, counted from the messages.",
        alt=f"Bytes per site and round, in the last round {formats.size(up[-1])} up, {formats.size(down[-1])} down.",
        draw=draw,
    )

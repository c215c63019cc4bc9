"""`secure-sapefl bench`: ratios against a naive version, measured in the same run."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console
from rich.table import Table

from secure_sapefl.cli.bench_dp import dp
from secure_sapefl.cli.bench_simulate import simulate

if TYPE_CHECKING:
    from sapefl_crypto.bench_report import Report, Target
    from sapefl_crypto.joint.bench_report import JointReport

app = typer.Typer(help="Measure this system against a naive version of itself, in one run.", no_args_is_help=True)


app.command("simulate")(simulate)
app.command("dp")(dp)


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


class Keys(StrEnum):
    SHARED = "shared"
    JOINT = "joint"


@app.callback()
def _bench() -> None:
    """Measure this system against a naive version of itself, in one run."""


@app.command()
def crypto(
    params: Annotated[int, typer.Option(min=1, help="Length of the vector, in parameters.")] = 1_228_038,
    clients: Annotated[int, typer.Option(min=1, help="Sites in the round.")] = 10,
    keys: Annotated[
        Keys, typer.Option(help="One key for all sites, or joint keys that a committee opens.")
    ] = Keys.SHARED,
    tree_frames: Annotated[
        int, typer.Option(min=1, help="Small frames through a tree of servers, with joint keys.")
    ] = 100_000,
    format: Annotated[Format, typer.Option(help="A table, or one JSON document on stdout.")] = Format.TABLE,
) -> None:
    """Encrypted aggregation: this recipe against the ordinary TenSEAL code (N = 8192, [60, 40, 40, 60], public key).

    With `--keys joint`: joint keys against shared ones and against ordinary code, and a tree of servers.

    Example: `secure-sapefl bench crypto --params 100000 --clients 5 --format json`
    """
    report = _measured(keys, params, clients, tree_frames)
    if format is Format.JSON:
        typer.echo(json.dumps(report.to_dict(), indent=2))
    elif keys is Keys.JOINT:
        _show_joint(cast("JointReport", report))
    else:
        _show_crypto(cast("Report", report))


def _measured(keys: Keys, params: int, clients: int, tree_frames: int) -> "Report | JointReport":
    from sapefl_crypto import bench
    from sapefl_crypto.joint import bench as joint_bench

    def say(news: str) -> None:
        typer.echo(news, err=True)

    if keys is Keys.JOINT:
        return joint_bench.run(params, clients, tree_frames, say)
    return bench.run(params, clients, say)


def _show_crypto(report: "Report") -> None:
    console = Console()
    for table in (_costs(report), _scaling(report), _targets(report.targets)):
        console.print(table)
    memory = ", ".join(f"{peak:.0f} MB with {count}" for count, peak in report.peak_memory_mb.items())
    console.print(f"Peak memory of the server's process: {memory} clients.", highlight=False)
    console.print(f"{report.security_bits} bits of security; promised error {report.promised_error:.1e}.")


def _costs(report: "Report") -> Table:
    table = Table("", "this recipe", "ordinary TenSEAL", "ratio", title_justify="left")
    table.title = f"{report.parameters:,} parameters, {report.clients} clients"
    ours, naive = report.to_dict()["ours"], report.to_dict()["naive"]
    for name, cost in ours.items():
        ratio = f"{report.ratios[name]:.1f}×" if name in report.ratios else ""
        table.add_row(name.replace("_", " "), f"{cost:.3g}", f"{naive[name]:.3g}", ratio)
    return table


def _scaling(report: "Report") -> Table:
    table = Table("processes", "encrypt s a vector", title="Over cores", title_justify="left")
    for row in report.scaling:
        table.add_row(str(row.workers), f"{row.encrypt_seconds:.3f}")
    return table


def _targets(targets: tuple["Target", ...]) -> Table:
    table = Table("target", "goal", "measured", "met", title="Targets", title_justify="left")
    for target in targets:
        table.add_row(target.name, target.goal, f"{target.value:.3g}", "yes" if target.met else "no")
    return table


def _show_joint(report: "JointReport") -> None:
    console, leg, tree = Console(), report.leg, report.tree
    for table in (_three_ways(report), _leg(report), _targets(report.targets)):
        console.print(table)
    memory = ", ".join(f"{peak:.0f} MB with {count}" for count, peak in report.peak_memory_mb.items())
    for line in (
        f"{report.plan}; {leg.members} members, {leg.threshold} open, {leg.tolerated} colluder tolerated.",
        f"Making a key, before the update exists: {report.before_update_seconds:.3f} s more.",
        f"Peak memory of the server's process: {memory} clients.",
        f"A tree, {tree.regions} servers and one above, {tree.plan}: {tree.frames:,} frames of weight 1 in "
        f"{tree.seconds:.1f} s, and {tree.seconds_top:.1f} s above; claim {tree.claim_bytes:,} bytes, a region's sum "
        f"{tree.partial_bytes:,} bytes, peak memory {tree.peak_memory_mb:.0f} MB; the same bytes as one server's.",
    ):
        console.print(line, highlight=False)


def _three_ways(report: "JointReport") -> Table:
    table = Table("", "joint keys", "shared keys", "ordinary", "to shared", "to ordinary", title_justify="left")
    table.title = f"{report.parameters:,} parameters, {report.clients} clients"
    ways = report.to_dict()
    for name, cost in ways["joint"].items():
        costs = (f"{value:.3g}" for value in (cost, ways["shared"][name], ways["ordinary"][name]))
        against = (report.ratios_to_shared, report.ratios_to_ordinary)
        times = (f"{ratios[name]:.1f}×" if name in ratios else "" for ratios in against)
        table.add_row(name.replace("_", " "), *costs, *times)
    return table


def _leg(report: "JointReport") -> Table:
    table = Table("the committee's leg", "", title_justify="left")
    for name, value in report.to_dict()["leg"].items():
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:.4f}")
    return table

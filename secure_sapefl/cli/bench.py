"""`secure-sapefl bench`: ratios against a naive version, measured in the same run."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from secure_sapefl.cli.bench_dp import dp
from secure_sapefl.cli.bench_shared import shared_noise
from secure_sapefl.cli.bench_simulate import simulate
from secure_sapefl.cli.options import Format
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.config import KeyChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sapefl_crypto.bench_report import Report, Target
    from sapefl_crypto.joint.bench.report import JointReport

app = typer.Typer(help="Measure this system against a naive version of itself, in one run.", no_args_is_help=True)
app.command("simulate")(simulate)
app.command("dp")(dp)
app.command("shared-noise")(shared_noise)


@app.callback()
def _bench() -> None:
    """Measure this system against a naive version of itself, in one run."""


@app.command()
def crypto(
    params: Annotated[int, typer.Option(min=1, help="Length of the vector, in parameters.")] = 1_228_038,
    clients: Annotated[int, typer.Option(min=1, help="Sites in the round.")] = 10,
    keys: Annotated[
        KeyChoice, typer.Option(help="One key for all sites, or joint keys that a committee opens.")
    ] = "shared",
    tree_frames: Annotated[
        int, typer.Option(min=1, help="Small frames through a tree of servers, with joint keys.")
    ] = 100_000,
    output: Format = "table",
) -> None:
    """Encrypted aggregation: this recipe against the ordinary TenSEAL code (N = 8192, [60, 40, 40, 60], public key).

    With `--keys joint`: joint keys against shared ones and against ordinary code, and a tree of servers.

    Example: `secure-sapefl bench crypto --params 100000 --clients 5 --format json`
    """
    from sapefl_crypto import bench
    from sapefl_crypto.bench_report import Report
    from sapefl_crypto.joint.bench import run as joint_bench

    def say(news: str) -> None:
        typer.echo(news, err=True)

    report = joint_bench.run(params, clients, tree_frames, say) if keys == "joint" else bench.run(params, clients, say)
    if output == "json":
        typer.echo(json.dumps(asdict(report), indent=2))
    elif isinstance(report, Report):
        _show_crypto(report)
    else:
        _show_joint(report)


def _show_crypto(report: "Report") -> None:
    _show_costs(report)
    rows = [(row.workers, f"{row.encrypt_seconds:.3f}") for row in report.scaling]
    print_table("Over cores", ("processes", "encrypt s a vector"), rows)
    _show_targets(report.targets)
    typer.echo(_memory(report.peak_memory_mb))
    typer.echo(f"{report.security_bits} bits of security; promised error {report.promised_error:.1e}.")


def _show_costs(report: "Report") -> None:
    ways = asdict(report)
    rows = [
        (_words(name), f"{cost:.3g}", f"{ways['naive'][name]:.3g}", _times(report.ratios, name))
        for name, cost in ways["ours"].items()
    ]
    title = f"{report.parameters:,} parameters, {report.clients} sites"
    print_table(title, ("", "this recipe", "ordinary TenSEAL", "ratio"), rows)


def _show_targets(targets: tuple["Target", ...]) -> None:
    rows = [(one.name, one.goal, f"{one.value:.3g}", "yes" if one.met else "no") for one in targets]
    print_table("Targets", ("target", "goal", "measured", "met"), rows)


def _show_joint(report: "JointReport") -> None:
    leg, tree = report.leg, report.tree
    _show_three_ways(report)
    measured = [(_words(name), _count_or_seconds(value)) for name, value in asdict(leg).items()]
    print_table("", ("the committee's leg", ""), measured)
    _show_targets(report.targets)
    for line in (
        f"{report.plan}; {leg.members} members, {leg.threshold} open, {leg.tolerated} colluder tolerated.",
        f"Making a key, before the update exists: {report.before_update_seconds:.3f} s more.",
        _memory(report.peak_memory_mb),
        f"A tree, {tree.regions} servers and one above, {tree.plan}: {tree.frames:,} frames of weight 1 in "
        f"{tree.seconds:.1f} s, and {tree.seconds_top:.1f} s above; claim {tree.claim_bytes:,} bytes, a region's sum "
        f"{tree.partial_bytes:,} bytes, peak memory {tree.peak_memory_mb:.0f} MB; the same bytes as one server's.",
    ):
        typer.echo(line)


def _show_three_ways(report: "JointReport") -> None:
    ways = asdict(report)
    rows = [
        (
            _words(name),
            *(f"{ways[way][name]:.3g}" for way in ("joint", "shared", "ordinary")),
            *(_times(ratios, name) for ratios in (report.ratios_to_shared, report.ratios_to_ordinary)),
        )
        for name in ways["joint"]
    ]
    columns = ("", "joint keys", "shared keys", "ordinary", "to shared", "to ordinary")
    print_table(f"{report.parameters:,} parameters, {report.clients} sites", columns, rows)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _times(ratios: "Mapping[str, float]", name: str) -> str:
    return f"{ratios[name]:.1f}×" if name in ratios else ""


def _count_or_seconds(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _memory(peaks: "Mapping[str, float]") -> str:
    said = ", ".join(f"{peak:.0f} MB with {count}" for count, peak in peaks.items())
    return f"Peak memory of the server's process: {said} sites."

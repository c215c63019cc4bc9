"""Results as tables a person can read."""

from pathlib import Path
from typing import Any

import typer

from secure_sapefl.cli.sheets import print_rows

_NOT_SAID = "by whoever passed the rows"
_NO_GLOBAL_MODEL = "none was trained"
_REMARKS = {"trained": "sites are trained", "base_share": "share of the base"}


def show_summary(summary: dict[str, Any], folder: Path) -> None:
    print_rows(f"{summary['method']} on {summary['dataset']}", _rows(summary))
    typer.echo(f"Report: {folder / 'report.html'}")


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    from secure_sapefl.protocol.disclosure import SILENT, protection_words  # imports torch, as the run has

    sizes, seconds = summary["bytes"], summary["seconds"]
    updates = sizes["update_bytes_per_parameter"]
    slowest = sorted(((v, k) for k, v in seconds.items() if k != "total" and v > 0.05), reverse=True)
    rows = [
        ("data", f"{summary['source']}, {summary['partition']} partition"),
        ("preparation", summary["preparation"] or _NOT_SAID),
        ("sites, rounds, seed", f"{summary['clients']}, {summary['rounds']}, {summary['seed']}"),
        (
            "protection",
            protection_words(summary["protection"], summary.get("keys", "shared"))
            if sizes["up_per_client_round"]
            else SILENT,
        ),
        *_scores(summary, trained=bool(updates)),
        (
            "a site's traffic a round",
            f"{_size(sizes['up_per_client_round'])} up, {_size(sizes['down_per_client_round'])} down",
        ),
        ("update", f"{summary['parameters']:,} parameters, {_on_the_wire(updates)}"),
        ("seconds", f"{seconds['total']:.1f} in all: " + ", ".join(f"{k} {v:.1f}" for v, k in slowest)),
    ]
    rows += [(title, summary[key]) for key, title in _REMARKS.items() if key in summary]
    if "early_stopping" in summary:
        used = summary["early_stopping"]["used_round"] + 1
        rows.append(("stopped early", f"used: round {used}, the best on training rows that were held back"))
    if summary.get("late_clients"):
        main = summary["metrics"][summary["main_metric"]]["title"]
        rows.append((f"late sites, {main}", _late(summary["late_clients"], summary["main_metric"])))
    if summary["privacy"]:
        rows.append(("differential privacy", _privacy(summary["privacy"])))
    if summary["skipped_rounds"] and updates:
        rows.append(("global model unchanged", f"in rounds {', '.join(str(r + 1) for r in summary['skipped_rounds'])}"))
    if summary["refused"]:
        names = sorted({r["site"] for r in summary["refused"]})
        rows.append(("left out", f"{len(summary['refused'])} times: {', '.join(names)}"))
    return rows


def _scores(summary: dict[str, Any], *, trained: bool) -> list[tuple[str, str]]:
    """The task's first two metrics; which way is better is said where lower is."""
    name, *others = list(summary["metrics"])[:2]
    main, everywhere = summary["metrics"][name], summary["global_metrics"][name]
    second = [summary["metrics"][one] for one in others]
    return [
        (_title(main), _spread(main)),
        *((_title(one), f"{_spread(one)}, defined at {one['defined']} sites") for one in second),
        (f"{main['title']}, global model", _spread(everywhere) if trained else _NO_GLOBAL_MODEL),
    ]


def _title(metric: dict[str, Any]) -> str:
    return f"{metric['title']}, own models" + ("" if metric["higher_is_better"] else " (lower is better)")


def _on_the_wire(bytes_per_parameter: float) -> str:
    return f"{bytes_per_parameter:.2f} bytes each on the wire" if bytes_per_parameter else "not sent"


def _late(late: dict[str, Any], metric: str) -> str:
    beside = {
        "as long alone": "local_only",
        "the global model": "global_model",
        "it, trained as long": "global_fine_tuned",
    }
    others = ", ".join(f"{_mean(late[key], metric)} {name}" for name, key in beside.items() if late[key])
    count = len(late["names"])
    return f"{_mean(late, metric)} after one round ({count} {'site' if count == 1 else 'sites'}); {others}"


def _mean(scores: dict[str, Any], metric: str) -> str:
    return f"{scores['metrics'][metric]['mean']:.4f}"


def _privacy(privacy: dict[str, Any]) -> str:
    spent = _spent_in_sums(privacy) if privacy.get("noise") == "shared" else _spent(privacy)
    stopped = sorted({one["site"] for one in privacy["stopped"]})
    sat_out = f"; sat out: {', '.join(stopped)}" if stopped else ""
    uncovered = "" if privacy["preparation_covered"] else "; how rows were prepared is not covered"
    return f"{spent}; the scores themselves are exact{uncovered}{sat_out}"


def _spent(privacy: dict[str, Any]) -> str:
    return (
        f"ε {privacy['epsilon_max']:.3g} of {privacy['epsilon_budget']:g} at δ {privacy['delta']:g}, the most a site "
        f"spent on all its messages ({privacy['epsilon_max_replace_one']:.3g} for a record that is replaced)"
    )


def _spent_in_sums(privacy: dict[str, Any]) -> str:
    """Both numbers, with what the smaller one rests on."""
    return (
        f"ε_shared {privacy['epsilon_shared']:.3g} of {privacy['epsilon_shared_budget']:g} at δ {privacy['delta']:g}, "
        f"the most a site spent for whoever reads opened sums of m = {privacy['contributors']} sites or more, of whom "
        f"t = {privacy['colluders']} may collude ({privacy['epsilon_shared_replace_one']:.3g} for a "
        f"{privacy['shared']['unit']} that is replaced); ε_max {privacy['epsilon_max']:.3g} if everybody else conspires"
    )


def _spread(value: dict[str, Any]) -> str:
    if value["mean"] is None:
        return "undefined"
    return f"{value['mean']:.4f} ± {value['std']:.4f} over sites"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"

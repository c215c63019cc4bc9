"""`secure-sapefl site status`."""

import json
from pathlib import Path
from typing import Any

import typer

from secure_sapefl.cli.options import Format, Home
from secure_sapefl.cli.sheets import print_table
from secure_sapefl.cli.transport import warn_of_certificate
from secure_sapefl.plain_text import printable


def status(
    home: Home = Path("site"),
    output: Format = "table",
) -> None:
    """How far each study is at this site, what it has cost, and whether anything is wrong.

    Examples:

    `secure-sapefl site status --home site`

    `secure-sapefl site status --home site --format json`
    """
    from secure_sapefl.site.status import all_statuses

    found = all_statuses(home)
    if output == "json":
        typer.echo(json.dumps(found))
        return
    columns = ("study", "running", "rounds", "answered", "epsilon", "refused messages", "device", "state")
    print_table("", columns, map(_cells, found))
    for one in found:
        if one.get("in_sums"):  # 0.1.0 knew no shared noise
            typer.echo(printable(f"{_named(one)}: {one['in_sums']}; the epsilon above if everybody else conspires"))
        typer.echo(printable(f"{_named(one)}: {own_model(one.get('judged'))}"))  # 0.1.0 did not judge
        if not one["over"]:
            warn_of_certificate(one)


def own_model(judged: dict[str, Any] | None) -> str:
    """As of the last round that was judged, on the rows this site holds back."""
    if judged is None:
        return "the site's model was not judged yet"
    if not judged["rows"]:
        return "there are no test rows to judge the site's model by"
    from secure_sapefl.metrics import title_of  # imports numpy, which `--help` does without

    own = judged["own"]
    area = "" if own.get("auc") is None else f", AUC {own['auc']:.3f}"
    after = f"after round {judged['round'] + 1}"
    if "accuracy" not in own:
        found = ", ".join(f"{title_of(name)} {value:.4g}" for name, value in own.items() if value is not None)
        return f"the site's own model has {found} on {judged['rows']} test rows, {after}"
    return f"the site's own model is right for {own['accuracy']:.1%} of {judged['rows']} test rows{area}, {after}"


def _named(one: dict[str, Any]) -> str:
    return f"{one['study']} {one['digest'][:8]}"


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    epsilon = "none" if one["epsilon"] is None else f"{one['epsilon']:.3g}"
    state = f"halted: {one['halted']}" if one["halted"] else "over" if one["over"] else "taking part"
    code = one.get("carried_code")  # 0.1.0 knew of none
    state += "" if code is None else f"; carried code {code['sha256'][:8]}, holds: {', '.join(code['holds'])}"
    return (
        _named(one),
        "yes" if one["running"] else "no",
        f"{one['absorbed']} of {one['rounds']}",
        str(one["answered"]),
        epsilon,
        str(one["refused_letters"]),
        one.get("device", "cpu"),  # 0.1.0 knew no other
        state,
    )

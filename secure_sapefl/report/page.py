"""One self-contained page: style, script and drawings inside, nothing fetched, which its own policy enforces."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from secure_sapefl.report import formats
from secure_sapefl.report.comparison import compare, comparison_charts, with_distinct_labels
from secure_sapefl.report.interval import RESAMPLES
from secure_sapefl.report.run import Run
from secure_sapefl.report.view import picture, view_of


def render_page(runs: Sequence[Run]) -> str:
    environment = _environment()
    runs = with_distinct_labels(runs)
    compared = compare(runs) if len(runs) > 1 else ()
    script = _asset(environment, "table.js")
    return environment.get_template("report.html.j2").render(
        title=f"{runs[0].algorithm.title} on {runs[0].summary['dataset']}" if len(runs) == 1 else f"{len(runs)} runs",
        views=[view_of(run, f"run-{place}") for place, run in enumerate(runs, 1)],
        compared=compared,
        comparison=[picture(chart, "comparison") for chart in comparison_charts(compared)] if compared else [],
        resamples=RESAMPLES,
        formats=formats,
        style=_asset(environment, "report.css"),
        script=script,
        policy=_policy(script),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("secure_sapefl.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for form in ("percent", "decimal", "points", "seconds", "size", "share", "interval"):
        environment.filters[form] = getattr(formats, form)
    return environment


def _asset(environment: Environment, name: str) -> Markup:
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])  # noqa: S704 - a file of this package


def _policy(script: str) -> str:
    """No connection to anywhere, and no script but ours, whatever a site is called."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"

"""One self-contained page: style, script and drawings inside, nothing fetched, which its own policy enforces."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from jinja2 import Environment
from markupsafe import Markup

from secure_sapefl.intervals import SITE_RESAMPLES
from secure_sapefl.plain_text import printable
from secure_sapefl.report import formats
from secure_sapefl.report.comparison import compare, comparison_charts, with_distinct_labels
from secure_sapefl.report.run import Run
from secure_sapefl.report.site_table import site_table
from secure_sapefl.report.view import picture, view_of
from secure_sapefl.templating import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatus:
    """Of a run that is going on: what the page shows, and how to tell whether there is something newer."""

    revision: str
    sentence: str
    over: bool


def render_page(runs: Sequence[Run], live: LiveStatus | None = None, title: str | None = None) -> str:
    """A page about runs; a live one asks its own server for news and needs a title until there is a run."""
    runs = with_distinct_labels(runs)
    compared = compare(runs) if len(runs) > 1 else ()
    return render(
        "report.html.j2",
        live,
        title=_title(runs) if runs else title,
        views=[view_of(run, f"run-{place}") for place, run in enumerate(runs, 1)],
        compared=compared,
        by_site=site_table(compared) if compared else None,
        comparison=[picture(chart, "comparison") for chart in comparison_charts(compared)] if compared else [],
        resamples=SITE_RESAMPLES,
        formats=formats,
    )


def render(template: str, live: LiveStatus | None, **content: object) -> str:
    """A template within the frame all pages share: style, script, and a policy that allows nothing else."""
    pages = _environment()
    script = _asset(pages, "table.js") + (_asset(pages, "live.js") if live else Markup())
    return pages.get_template(template).render(
        style=_asset(pages, "report.css"),
        script=script,
        policy=_policy(script, "'self'" if live else "'none'"),
        live=live,
        **content,
    )


def _title(runs: Sequence[Run]) -> str:
    return f"{runs[0].algorithm.title} on {runs[0].summary['dataset']}" if len(runs) == 1 else f"{len(runs)} runs"


def _environment() -> Environment:
    made = environment("secure_sapefl.report")
    made.filters |= {**formats.FILTERS, "printable": printable}
    return made


def _asset(pages: Environment, name: str) -> Markup:
    assert pages.loader is not None
    return Markup(pages.loader.get_source(pages, name)[0])  # noqa: S704 - a file of this package


def _policy(script: str, connect: str) -> str:
    """No connection but to where a live page came from, and no script but ours, whatever a site is called."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    rest = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'; connect-src {connect}"
    return f"default-src 'none'; img-src data:; {rest}"

"""A model card (Mitchell et al. 2019, arXiv:1810.03993) in Markdown, from the facts of a run.

What a run knows is stated, with intervals; what it cannot know, such as who may use the model for what, is marked as
to be written rather than made up.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment

from secure_sapefl.data import spec_of
from secure_sapefl.data.load import looks_like_path
from secure_sapefl.data.spec import DatasetSpec, Stored
from secure_sapefl.data.store import locate
from secure_sapefl.engine.assembly import divided, federation_of
from secure_sapefl.intervals import wilson
from secure_sapefl.protocol.disclosure import PLAINTEXT
from secure_sapefl.report import formats
from secure_sapefl.report.budget import budget_of
from secure_sapefl.report.run import Run
from secure_sapefl.report.view import SiteRow, facts_of, headlines_of, sites_of
from secure_sapefl.templating import environment, plain


@dataclass(frozen=True, slots=True)
class CardRow:
    site: SiteRow
    tested: int | None
    share: bool = True  # whether the main metric is a share of the test rows

    @property
    def interval(self) -> str:
        """Of a share of rows; of nothing else."""
        if self.tested is None or not self.share:
            return formats.NOTHING
        low, high = wilson(self.site.main, self.tested)
        return f"{formats.percent(low)} to {formats.percent(high)}"


def model_card(run: Run) -> str:
    counted, sites = rows_tested(run), sites_of(run)
    dataset, task = spec_of(run.summary["dataset"]), run.summary.get("task", "classification")
    return (
        _environment()
        .get_template("model-card.md.j2")
        .render(
            run=run,
            title=f"{run.algorithm.title} on {run.summary['dataset']}",
            facts=facts_of(run),
            task=dataset.task if dataset else f"{task} of the study's own rows",
            dataset=dataset,
            headlines=headlines_of(run),
            rows=[
                CardRow(site, counted[c] if counted else None, task == "classification") for c, site in enumerate(sites)
            ],
            counted=counted is not None,
            budget=budget_of(run),
            disclosures=run.exposure.disclosures(),
            limits=list(_limits(run, sites)),
        )
    )


def rows_tested(run: Run) -> tuple[int, ...] | None:
    """By site, counted again where the very data of the run is on this machine. Nothing is downloaded."""
    if not _at_hand(run, spec_of(run.config.dataset)):
        return None
    federation = federation_of(run.config)
    if run.identity is None or not run.identity.fits(federation):
        return None
    return tuple(len(client.test) for client in divided(federation, run.config.late_clients)[0].clients)


def _at_hand(run: Run, dataset: DatasetSpec | None) -> bool:
    if dataset is None:
        return looks_like_path(run.config.dataset) and Path(run.config.dataset).is_file()
    return not isinstance(dataset.origin, Stored) or locate(dataset.origin, run.config.data_dir) is not None


def _limits(run: Run, sites: Sequence[SiteRow]) -> Iterator[str]:
    yield "One seed. Other initial weights, splits and batches give other numbers, which no interval here covers."
    yield "Test rows come from the same sites and times as training rows."
    if run.summary["protection"] == "plaintext" and not run.silent:
        yield f"Protection was {PLAINTEXT}."
    elif run.has_global_model and run.config.keys == "shared":
        yield (
            "A global model that is to leave the cohort goes through `secure-sapefl release`: a decryption published "
            "as it is can give the key away."
        )
    worse = [site.name for site in sites if site.verdict == "lost"]
    if run.personal_differs and worse:
        yield f"At {len(worse)} of {len(sites)} sites the global model is better than their own: {', '.join(worse)}."
    undefined = [site.name for site in sites if site.second is not None and math.isnan(site.second)]
    if undefined and run.second is not None:
        kinds = "whose test rows do not vary" if run.second.name != "auc" else "whose test rows are of one class"
        yield f"No {run.second.title} at {len(undefined)} sites, {kinds}: {', '.join(undefined)}."
    if run.summary["refused"]:
        yield f"{len(run.summary['refused'])} contributions were refused in training; the report says which and why."


def _environment() -> Environment:
    made = environment("secure_sapefl.report", finalize=_plain, keep_trailing_newline=True)
    made.filters |= formats.FILTERS
    return made


def _plain(value: object) -> str:
    """A value as Markdown in one line that shows just these characters."""
    return plain(" ".join(str(value).split()))

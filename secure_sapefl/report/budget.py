"""The privacy budget of a run as the page shows it: what was promised, and what each site spent on which release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from secure_sapefl.plain_text import printable
from secure_sapefl.report import formats
from secure_sapefl.report.run import Run
from secure_sapefl.report.spending import FIELDS, by_release

_LABELS = {
    "epsilon_shared_budget": "Budget of every site for opened sums, ε_shared",
    "epsilon_shared": "Most spent by a site for whoever reads opened sums, ε_shared",
    "epsilon_shared_prv": "The same by the tighter PRV accountant",
    "epsilon_shared_replace_one": "The same for a record or site that is replaced",
    "contributors": "It rests on so many sites at least in a sum, m",
    "colluders": "of whom so many may collude, t",
    "epsilon_budget": "Budget of every site, ε",
    "delta": "δ",
    "epsilon_max": "Most spent by a site, ε",
    "epsilon_max_prv": "The same by the tighter PRV accountant",
    "epsilon_max_replace_one": "The same for a record that is replaced",
    "unit": "What ε is about",
    "accountant": "Accountant the budget is held to",
    "noise_multiplier": "Training noise, largest multiplier",
    "score_noise": "Score noise, largest multiplier",
    "clip": "Largest gradient of one record",
    "generator": "Noise drawn from",
    "metrics": "Accuracy and AUC on this page",
    "preparation_covered": "The way rows are prepared is covered",
}


@dataclass(frozen=True, slots=True)
class SiteBudget:
    site: str
    spent: float | None
    alone: tuple[float | None, ...]  # of each release, in the order of the columns


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetView:
    facts: tuple[tuple[str, str], ...]
    releases: tuple[str, ...]
    sites: tuple[SiteBudget, ...]
    notes: tuple[str, ...]


def budget_of(run: Run) -> BudgetView | None:
    """None where nothing was promised."""
    recorded: Mapping[str, Any] | None = run.summary["privacy"]
    if not recorded:
        return None
    alone = by_release(run) or tuple({} for _ in run.epsilons)
    found = {field for site in alone for field in site}
    releases = [*(field for field in FIELDS if field in found), *sorted(found - FIELDS.keys())]
    return BudgetView(
        facts=_facts(recorded),
        releases=tuple(FIELDS.get(field, field) for field in releases),
        sites=tuple(
            SiteBudget(name, spent, tuple(costs.get(field) for field in releases))
            for name, spent, costs in zip(run.sites, run.epsilons, alone, strict=False)
        ),
        notes=tuple(printable(note) for note in recorded.get("notes", ())),
    )


def _facts(recorded: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What everybody should read first; then every other single value a summary may hold."""
    single = {key: value for key, value in recorded.items() if not isinstance(value, list | dict)}
    ordered = sorted(single, key=lambda key: list(_LABELS).index(key) if key in _LABELS else len(_LABELS))
    return tuple((_LABELS.get(key, key.replace("_", " ")), printable(_short(single[key]))) for key in ordered)


def _short(value: object) -> str:
    match value:
        case None:
            return formats.NOTHING
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
    return str(value)

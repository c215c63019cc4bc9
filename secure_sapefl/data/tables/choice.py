"""Which preparation a table of one's own gets: agreed by all sites, each site's own, public, or none at all.

By default the sites of a table agree on one (``common``). Under label skew a made-up site's mean is its label, and
taking it away takes the label's trace with it; real sites that are scaled apart cannot be told from each other's
instruments either. A private study uses public ranges where it has them, and pays for a common preparation where it is
asked for by name. A schema with ``scaling = "site"`` says that there are no public ranges to count on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import PreparationName
from secure_sapefl.data.prepare import Prepare, PublicScale, as_given, standardise
from secure_sapefl.data.ranges import public_scale
from secure_sapefl.data.spec import Option, one_of
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.features import Date, Feature, Measured
from secure_sapefl.data.tables.preparation import mixed
from secure_sapefl.data.tables.propose import outwards
from secure_sapefl.data.tables.tally import CountPlan
from secure_sapefl.errors import BadInput

OPTIONS: Final[Mapping[str, Option]] = {"standardise": "auto", "ranges": "", "target": "", "layout": "auto"}
_BY_RANGES: Final = "Scaling by public ranges"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for: by `--preparation`, by data options, by the schema."""

    preparation: PreparationName | None
    options: Mapping[str, Any]
    private: bool
    apart: bool  # a schema was given, and says that each site scales its own

    @property
    def resolved(self) -> PreparationName | None:
        """None where nothing is to be done at all."""
        if self.options["ranges"] or self.options["standardise"] == "none":
            return "public" if self.options["ranges"] else None
        if self.preparation is not None:
            return self.preparation
        if self.apart:
            return "site"
        return "public" if self.private else "common"

    def require_sound(self, name: str) -> None:
        one_of(name, self.options, "standardise", ("auto", "none"))
        named = [key for key in ("standardise", "ranges") if self.options[key] != OPTIONS[key]]
        if len(named) == 2:
            raise BadInput(f"{name}: `ranges` is a way to standardise; leave out `standardise`.")
        if named and self.preparation is not None:
            raise BadInput(f"{name}: the data option `{named[0]}` is a preparation itself; leave out --preparation.")


def prepared(table: Table, features: Sequence[Feature], wish: Wish) -> Table:
    """The table with the preparation it is to have; a common one is agreed on once its rows are divided."""
    name = table.source.partition(",")[0]
    wish.require_sound(name)
    match wish.resolved:
        case None:
            return replace(table, prepare=_whole(features, as_given))
        case "public":
            return replace(table, prepare=_whole(features, _public(features, wish, name)))
        case "site":
            return replace(table, prepare=_whole(features, standardise))
        case "common":
            plan = CountPlan(tuple(_ranged(one, table.X[:, k], wish) for k, one in enumerate(features)))
            return replace(table, prepare=_whole(features, standardise), common=plan)


def require_fixed(name: str, preparation: PreparationName | None) -> None:
    """For data that a fixed formula prepares, the same at every site, or whose preparation is an option of its own."""
    if preparation not in (None, "public"):
        raise BadInput(
            f"--preparation {preparation} is for a table of one's own. {name} is prepared by a fixed formula, or as "
            "its data options say."
        )


def _whole(features: Sequence[Feature], scale: Prepare) -> Prepare:
    return mixed(features, scale) if any(not isinstance(one, Measured) for one in features) else scale


def _public(features: Sequence[Feature], wish: Wish, name: str) -> Prepare:
    numbers = [one for one in features if isinstance(one, Measured)]
    if wish.options["ranges"]:
        return public_scale(Path(wish.options["ranges"]), tuple(one.name for one in numbers))
    for one in numbers:
        if one.range is None:
            raise BadInput(
                f"{name}: {_BY_RANGES} needs that of every column, and {one.name!r} has none. Write low and high into "
                "a schema (`secure-sapefl data schema`), or give --data-option ranges=FILE.toml."
            )
    return PublicScale(tuple(one.range for one in numbers if one.range is not None))


def _ranged(feature: Feature, values: NDArray[np.float64], wish: Wish) -> Feature:
    """A simulation may read a range that nobody gave off its rows; sites of a private study have nobody to ask."""
    if not isinstance(feature, Measured) or feature.range is not None:
        return feature
    if wish.private:
        raise BadInput(
            f"Column {feature.name!r} has no range. Sites of a private study count on public ones: give --data-schema "
            "with low and high, or choose --preparation site."
        )
    known = values[~np.isnan(values)]
    low, high = outwards(float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if isinstance(feature, Date):
        first, last = (feature.reference + timedelta(days=days) for days in (np.floor(low), np.ceil(high)))
        return feature.model_copy(update={"low": first, "high": last})
    return feature.model_copy(update={"low": low, "high": high})

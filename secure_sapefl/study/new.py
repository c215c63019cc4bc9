"""From what a coordinator writes down to a complete study: keys put in, options of the method spelt out."""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sapefl_crypto.keys.identity import SitePublicKeys
from secure_sapefl.algorithms.registry import configured
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.roster import SMALLEST_ROSTER
from secure_sapefl.study.terms import StudyTerms

_FILLED_IN: Final = ("coordinator", "roster", "package", "signature")
_FEATURE: Final = re.compile(r"(?P<name>[^:?]+)(?P<missing>\?)?(?::(?P<values>.+))?")
_RANGE: Final = re.compile(r"(?P<low>[^|@]+?)\.\.(?P<high>[^|@]+)(?:@(?P<typical>[^|@]+))?")


def new_study(draft: Mapping[str, Any], coordinator: SitePublicKeys, sites: Sequence[SitePublicKeys]) -> StudyFile:
    """A study ready to be signed. Everything is checked as a site would check it."""
    fields = dict(draft)
    for name in _FILLED_IN:
        if name in fields:
            raise StudyRejected(f"{name!r} is put in by this command, from keys; remove it from the draft.")
    _, options = configured(str(fields.setdefault("method", "sapefl")), fields.get("options", {}))
    protection = {"max_clients": max(len(sites), SMALLEST_ROSTER), **fields.get("protection", {})}
    study = StudyFile.read(
        {
            **fields,
            "coordinator": coordinator.to_text(),
            "roster": [site.to_text() for site in sites],
            "options": options.model_dump(mode="json", exclude_none=True),
            "protection": protection,
        },
        "the study",
    )
    terms = StudyTerms.from_file(study)
    if (weak := terms.weak_delta) is not None:
        warnings.warn(weak, PrivacyWarning, stacklevel=2)
    return study if terms.shared is None else _with_plan(study, terms)


def _with_plan(study: StudyFile, terms: StudyTerms) -> StudyFile:
    """What the calibrator chose, in the file that sites approve. No round counts with fewer than the plan needs."""
    chosen = terms.blueprint.config
    names = ("rounds", "dp_contributors", "dp_rate", "dp_lr")
    values = {name: getattr(chosen, name) for name in names}
    least = max(study.min_cohort, terms.blueprint.study.least_contributors)
    return StudyFile.read({**study.model_dump(exclude_none=True), **values, "min_cohort": least}, "the study")


def merged(draft: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` over a draft; tables such as privacy are merged key by key."""
    over = {
        key: {**draft[key], **value} if isinstance(value, Mapping) and isinstance(draft.get(key), Mapping) else value
        for key, value in values.items()
    }
    return {**draft, **over}


def feature_of(text: str) -> dict[str, Any]:
    """``age:0..120`` is a number in a range, ``bmi`` any number, ``sex:f|m`` one of two levels; ``chol?:0..600@220``
    may be missing, and is then taken for 220."""
    parts = _FEATURE.fullmatch(text)
    if parts is None:
        raise BadInput(f"{text!r} is no feature; write for instance age:0..120, sex:f|m or chol?:0..600@220.")
    feature: dict[str, Any] = {"name": parts["name"], "may_be_missing": parts["missing"] is not None}
    match parts["values"]:
        case None:
            return feature
        case values if bounds := _RANGE.fullmatch(values):
            return feature | {key: _number(text, word) for key, word in bounds.groupdict().items() if word is not None}
        case values:
            return feature | {"kind": "categorical", "levels": values.split("|")}


def _number(feature: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{feature!r}: {text!r} is not a number; a range is for instance 0..120.") from None

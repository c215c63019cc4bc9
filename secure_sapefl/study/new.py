"""From what a coordinator writes down to a complete study: keys put in, options of the method spelt out."""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sapefl_crypto.keys.identity import SitePublicKeys
from secure_sapefl.algorithms.base import Homomorphic
from secure_sapefl.algorithms.registry import configured
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.own_code import names_own_code
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.protocol.joint.possible import RECOMMENDED_FROM
from secure_sapefl.protocol.study import cohort_size, fewest_contributors
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.roster import SMALLEST_ROSTER
from secure_sapefl.study.terms import StudyTerms

_FILLED_IN: Final = ("coordinator", "roster", "package", "signature", "code")
_FEATURE: Final = re.compile(r"(?P<name>[^:?]+)(?P<missing>\?)?(?::(?P<values>.+))?")
_RANGE: Final = re.compile(r"(?P<low>[^|@]+?)\.\.(?P<high>[^|@]+)(?:@(?P<typical>[^|@]+))?")


def new_study(draft: Mapping[str, Any], coordinator: SitePublicKeys, sites: Sequence[SitePublicKeys]) -> StudyFile:
    """A study ready to be signed. Everything is checked as a site would check it."""
    fields = dict(draft)
    for name in _FILLED_IN:
        if name in fields:
            raise StudyRejected(f"{name!r} is put in by this command; remove it from the draft.")
    if "data" not in fields:
        raise StudyRejected(
            "The study does not say what its records are. Give --schema FILE (`secure-sapefl data schema` writes one), "
            "or --feature, --label and --class."
        )
    if names_own_code(str(fields.get("model", ""))):
        from secure_sapefl.study.built import carrying  # nothing else here runs anybody's code

        fields = carrying(fields)
    _, options = configured(str(fields.setdefault("method", "sapefl")), fields.get("options", {}))
    fields |= _what_sites_count(fields)
    if fields.get("dp_noise") == "shared":
        fields["min_cohort"] = _least(fields, len(sites))
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
    if study.kind == "statistics":
        return study
    terms = StudyTerms.from_file(study)
    if (weak := terms.weak_delta) is not None:
        warnings.warn(weak, PrivacyWarning, stacklevel=2)
    return study if terms.shared is None else _with_plan(study, terms)


def recommended_keys(study: StudyFile) -> str | None:
    """What to consider before sites are asked; None where nothing is to be said."""
    relays = configured(study.method, study.options)[0].homomorphic is Homomorphic.RELAY
    refused = study.keys == "joint" or study.scores == "hidden" or study.metrics == "sum"
    if refused or relays or study.cohort_size < RECOMMENDED_FROM:
        return None
    return (
        f"Recommended: --keys joint. With {study.cohort_size} sites in a round nobody needs to hold a key that opens "
        "every update, as all sites do now; give the same option to `keys cohort`."
    )


def _what_sites_count(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A Table 1 is one round of everybody. The sites of a table agree on one preparation, unless its owner says
    otherwise; a private study uses the public ranges, which cost nothing."""
    if fields.get("kind") == "statistics":
        return {"rounds": 1, "participation": 1.0}
    data = fields.get("data", {})
    ranged = isinstance(data, Mapping) and data.get("kind", "table") == "table" and data.get("scaling") != "site"
    if not ranged or fields.get("preparation") is not None:
        return {}
    return {"preparation": "public" if fields.get("privacy") else "common"}


def _with_plan(study: StudyFile, terms: StudyTerms) -> StudyFile:
    """What the calibrator chose, in the file that sites approve."""
    chosen = terms.blueprint.config
    names = ("rounds", "dp_contributors", "dp_rate", "dp_lr")
    values = {name: getattr(chosen, name) for name in names}
    return StudyFile.read({**study.model_dump(exclude_none=True), **values}, "the study")


def _least(fields: Mapping[str, Any], sites: int) -> Any:
    """Under shared noise, no round is closed with fewer than the plan needs: it waits. What is no number is left for
    the study file to refuse."""
    part, asked = fields.get("participation", 1.0), fields.get("min_cohort", SMALLEST_ROSTER)
    planned = fields.get("dp_contributors")
    if not all(isinstance(one, int | float) for one in (part, asked, planned or 0)):
        return asked
    return max(asked, planned or fewest_contributors(cohort_size(part, sites)))


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

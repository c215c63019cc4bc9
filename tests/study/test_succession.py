"""The next study of a programme: another roster, other keys, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.succession import successor

PRIVACY = {"epsilon": 4.0, "delta": 1e-5}


def test_only_who_takes_part_changes(
    make_study: Callable[..., StudyFile], coordinator: SiteIdentity, identities: list[SiteIdentity]
) -> None:
    before = make_study(privacy=PRIVACY, records={"a": 40, "b": 50}, options={"influence": 0.5}, min_cohort=3)
    new_a, d = SiteIdentity.generate("a"), SiteIdentity.generate("d")
    made = successor(
        before, "heart-2", coordinator.public, replace={"a": new_a.public, "b": d.public}, join=[identities[1].public]
    )
    assert made.sites == ("a", "d", "c", "b")
    assert made.keys_by_name["a"] == new_a.public != before.keys_by_name["a"]
    assert made.records == {"a": 40, "d": 50}
    assert made.protection.max_clients == 4
    assert made.digest != before.digest
    same = {"name", "roster", "records", "protection"}
    assert made.model_dump(exclude=same) == before.model_dump(exclude=same) | {
        "options": made.options,
        "preparation": "public",  # which the schema said before
    }
    assert made.options["influence"] == 0.5


def test_a_site_may_go(make_study: Callable[..., StudyFile], coordinator: SiteIdentity) -> None:
    made = successor(make_study(), "heart-2", coordinator.public, replace={}, leave=["b"])
    assert made.sites == ("a", "c")


@pytest.mark.parametrize(
    ("fields", "error", "sentence"),
    [
        ({"name": "heart"}, BadInput, "needs a name of its own"),
        ({"leave": ["x"]}, StudyRejected, "'x' is not on the roster of 'heart': a, b, c"),
        ({"leave": ["a", "b"]}, BadInput, "roster"),
    ],
)
def test_what_cannot_be_meant(
    make_study: Callable[..., StudyFile], coordinator: SiteIdentity, fields: dict[str, Any], error: Any, sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        successor(make_study(), **({"name": "next", "coordinator": coordinator.public, "replace": {}} | fields))

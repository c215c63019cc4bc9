"""Datasets by name: ours, nobody's, and what a private study does with them unless told otherwise."""

import pytest

from secure_sapefl.data import DATASETS, private_options, spec_of


@pytest.mark.parametrize("name", DATASETS)
def test_the_name_is_the_key(name: str) -> None:
    spec = spec_of(name)
    assert spec is DATASETS[name]
    assert spec.name == name
    assert spec.licence
    assert spec.source


def test_a_name_nobody_has_is_nobodys() -> None:
    assert spec_of("hearts") is None
    assert spec_of("patients.csv") is None


def test_a_private_study_learns_nothing_from_rows_where_a_dataset_knows_how() -> None:
    assert dict(private_options("heart")) == {"standardise": "public"}
    assert dict(private_options("patients.csv")) == {}

"""What datasets say about themselves, and which options they take."""

import pytest

from secure_sapefl.data import DATASETS
from secure_sapefl.data.spec import checked_options, one_of
from secure_sapefl.errors import BadInput, UnknownName


def test_every_dataset_describes_itself():
    assert list(DATASETS) == [
        *("synthetic", "har", "accgyro", "cifar10", "cifar100", "mnist", "fmnist", "emnist"),
        *("heart", "pneumonia", "blood"),
    ]
    for name, spec in DATASETS.items():
        assert spec.name == name
        assert all([spec.task, spec.classes, spec.rows, spec.licence, spec.source, spec.preparation])


def test_given_options_stand_over_the_defaults():
    assert checked_options("heart", {"window": 10, "scale": 1.0}, {"scale": 2}) == {"window": 10, "scale": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"windw": 5}, "Did you mean 'window'"),
        ({"window": 2.5}, "Option 'window' of heart is 2.5, expected int, e.g. 10"),
        ({"window": True}, "is True, expected int"),
        ({"scale": "large"}, "is 'large', expected float"),
    ],
)
def test_an_option_that_is_none_or_of_another_kind_is_named(given, message):
    with pytest.raises(BadInput, match=message):
        checked_options("heart", {"window": 10, "scale": 1.0}, given)


def test_a_choice_is_one_of_those_there_are():
    assert one_of("heart", {"standardise": "site"}, "standardise", ("site", "all")) == "site"
    with pytest.raises(UnknownName, match="Did you mean 'site'"):
        one_of("heart", {"standardise": "sites"}, "standardise", ("site", "all"))

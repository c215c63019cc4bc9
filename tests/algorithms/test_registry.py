"""Methods are found by name, with options that are checked."""

import pytest

from secure_sapefl.algorithms.registry import ALGORITHMS, algorithm, configured
from secure_sapefl.errors import BadInput, UnknownName


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_name_is_the_key(name: str) -> None:
    method = algorithm(name)
    assert method.name == name
    assert method.title
    assert method.source


def test_an_unknown_name_gets_the_nearest_one_and_the_list() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'fedavg'\? Run `secure-sapefl methods`"):
        algorithm("fedvag")


def test_options_are_read_by_the_method_and_a_wrong_one_says_whose_it_is() -> None:
    method, options = configured("fedprox", {"mu": 0.5})
    assert (method, options.model_dump()["mu"]) == (ALGORITHMS["fedprox"], 0.5)
    with pytest.raises(BadInput, match=r"options of fedprox.*mu"):
        configured("fedprox", {"mu": -1.0})
    with pytest.raises(BadInput, match=r"study\.toml"):
        configured("fedprox", {"nu": 1.0}, "study.toml")

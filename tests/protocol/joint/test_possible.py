"""Studies that cannot have joint keys are refused by a sentence that says why and what to do."""

from dataclasses import replace

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.joint.possible import require_possible
from secure_sapefl.protocol.study import Study

FOUR = Study(name="s", sites=tuple("abcd"), participation=0.75, seed=0, parameters=1, max_score=1.0, keys="joint")


def test_three_of_four_sites_withstand_one_colluder_and_not_two() -> None:
    require_possible(FOUR)
    with pytest.raises(BadInput, match=r"--colluders 2\) need 4 senders .* 3 of 4 sites .* lower --colluders"):
        require_possible(replace(FOUR, colluders=2))
    with pytest.raises(BadInput, match=r"2 of 4 sites take part in one\. Have more sites take part, or use"):
        require_possible(replace(FOUR, participation=0.5))


def test_hidden_scores_are_refused_by_name() -> None:
    with pytest.raises(BadInput, match="Joint keys and hidden scores do not go together: a committee opens a sum only"):
        require_possible(replace(FOUR, scores="hidden"))


def test_what_has_no_sum_or_no_joint_keys_is_not_asked() -> None:
    require_possible(replace(FOUR, participation=0.25, relay_only=True))
    require_possible(replace(FOUR, participation=0.25, keys="shared", scores="hidden"))

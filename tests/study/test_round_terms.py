"""What rounds need to be known of, whatever they are for."""

from collections.abc import Callable

import pytest

from sapefl_crypto import Parameters
from sapefl_crypto.joint.plan import JointPlan
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.round_terms import RoundTerms, plan_of
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]


@pytest.mark.parametrize("keys", ["shared", "joint"])
def test_training_and_counting_have_the_same_plan_and_committees(make_study: MakeStudy, keys: str) -> None:
    study = make_study(preparation="common", keys=keys)
    counting = CountingTerms.before_training(study)
    assert counting is not None
    both: tuple[RoundTerms, ...] = (StudyTerms.from_file(study), counting)
    assert [one.params for one in both] == [plan_of(study)] * 2
    assert isinstance(both[0].params, Parameters if keys == "shared" else JointPlan)
    assert not any(one.draws_committees for one in both)
    assert [one.consented for one in both] == [study, study]
    if keys == "joint":
        assert [one.joint().study for one in both] == [one.study for one in both]
        assert counting.study.fewest_in_a_sum == 3
    else:
        with pytest.raises(AssertionError, match="shared keys"):
            counting.joint()

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.shared.parties import Parties


def test_ten_contributors_of_whom_three_collude() -> None:
    """Six shares of 2 / sqrt(6) have the variance of one Gaussian of 2."""
    parties = Parties(10, 3)
    assert parties.honest == 6
    assert 6 * parties.share(2.0) ** 2 == pytest.approx(4)


@given(st.integers(2, 500), st.data(), st.floats(0.3, 100))
def test_shares_come_together(contributors: int, data: st.DataObject, noise: float) -> None:
    """And with more contributors than planned there is more noise, not less."""
    parties = Parties(contributors, data.draw(st.integers(0, contributors - 2)))
    share = parties.share(noise)
    assert share * math.sqrt(parties.honest) == pytest.approx(noise)
    assert share * math.sqrt(contributors) >= noise


@pytest.mark.parametrize(("contributors", "colluders"), [(1, 0), (3, 2), (3, 5), (0, 0), (5, -1)])
def test_somebody_must_be_left_whose_noise_nobody_knows(contributors: int, colluders: int) -> None:
    with pytest.raises(BadInput, match="--dp-contributors"):
        Parties(contributors, colluders)

"""Learning rates by hand, and that none is ever 0."""

import pytest

from secure_sapefl.training.schedule import Schedule


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("constant", [0.4, 0.4, 0.4, 0.4]),
        ("linear", [0.4, 0.3, 0.2, 0.1]),
        ("cosine", [0.4, 0.2 * (1 + 2**-0.5), 0.2, 0.2 * (1 - 2**-0.5)]),
    ],
)
def test_rates_of_four_rounds(name, rates: list[float]) -> None:
    schedule = Schedule(name=name, lr=0.4, rounds=4)
    assert [schedule.rate(t) for t in range(4)] == pytest.approx(rates)
    assert schedule.rate(4) == schedule.rate(3) > 0  # of a site that comes late


def test_a_slow_beginning() -> None:
    schedule = Schedule(name="constant", lr=0.3, rounds=5, warmup=2)
    assert [schedule.rate(t) for t in range(5)] == pytest.approx([0.1, 0.2, 0.3, 0.3, 0.3])


def test_a_constant_rate_is_the_number_given() -> None:
    assert Schedule(name="constant", lr=0.05, rounds=10).rate(7) == 0.05

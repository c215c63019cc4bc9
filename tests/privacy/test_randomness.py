from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from secure_sapefl.privacy.randomness import KeyedRandomness, Randomness, SecureRandomness, SystemRandomness

SOURCES: dict[str, Callable[[], Randomness]] = {
    "keyed": lambda: KeyedRandomness(np.random.default_rng(4)),
    "secure": SecureRandomness,
    "system": SystemRandomness,
}


@pytest.fixture(params=list(SOURCES))
def source(request: pytest.FixtureRequest) -> Randomness:
    return SOURCES[request.param]()


def test_normal_numbers_are_normal(source: Randomness) -> None:
    out = torch.empty(20_001)
    source.normal_(out)
    assert kstest(out.numpy(), "norm").pvalue > 1e-6
    assert float(out.std()) == pytest.approx(1, abs=0.03)


def test_uniform_numbers_are_uniform(source: Randomness) -> None:
    drawn = source.uniform(100, 200)
    assert drawn.shape == (100, 200)
    assert kstest(drawn.ravel(), "uniform").pvalue > 1e-6
    assert drawn.max() < 1


def test_keyed_numbers_repeat_and_secure_ones_do_not() -> None:
    def draw(source: Randomness) -> list[float]:
        out = torch.empty(8)
        source.normal_(out)
        return [*out.tolist(), *source.uniform(3)]

    assert draw(KeyedRandomness(np.random.default_rng(4))) == draw(KeyedRandomness(np.random.default_rng(4)))
    assert draw(KeyedRandomness(np.random.default_rng(4))) != draw(KeyedRandomness(np.random.default_rng(5)))
    assert draw(SecureRandomness()) != draw(SecureRandomness())
    assert draw(SystemRandomness()) != draw(SystemRandomness())


def test_every_secure_bit_comes_from_the_secure_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its generator stuck at zero there is no noise at all: no other source is mixed in, or fallen back to."""
    monkeypatch.setattr("ssl.RAND_bytes", bytes)
    out = torch.ones(5)
    SecureRandomness().normal_(out)
    assert not out.any()
    assert not SecureRandomness().uniform(3).any()


def test_every_bit_of_the_system_s_noise_comes_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stuck at zero it gives the end of the tail, 9.5 deviations, times the cosine and the sine of 0."""
    monkeypatch.setattr("os.urandom", bytes)
    out = torch.ones(4, dtype=torch.float64)
    SystemRandomness().normal_(out)
    assert out.tolist() == pytest.approx([9.493, 9.493, 0, 0], abs=1e-3)
    assert not SystemRandomness().uniform(3).any()


def test_each_says_which_it_is() -> None:
    assert KeyedRandomness(np.random.default_rng(0)).name == "keyed streams (simulation only)"
    assert SecureRandomness().name == "OpenSSL (ssl.RAND_bytes)"
    assert SystemRandomness().name == "operating system (os.urandom)"


def test_how_many_records_were_drawn_does_not_move_keyed_noise() -> None:
    def noise(records: int, dtype: torch.dtype) -> list[float]:
        source, out = SOURCES["keyed"](), torch.empty(5, dtype=dtype)
        source.uniform(records)
        source.normal_(out)
        return [float(value) for value in out]

    for dtype in (torch.float32, torch.float64):
        assert noise(3, dtype) == noise(8, dtype)


def test_double_normal_numbers_are_normal_too(source: Randomness) -> None:
    out = torch.empty(20_001, dtype=torch.float64)
    source.normal_(out)
    assert kstest(out.numpy(), "norm").pvalue > 1e-6

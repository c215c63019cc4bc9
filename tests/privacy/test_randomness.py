import numpy as np
import pytest
import torch
from scipy.stats import kstest

from secure_sapefl.privacy.randomness import KeyedRandomness, Randomness, SecureRandomness


@pytest.fixture(params=["keyed", "secure"])
def source(request: pytest.FixtureRequest) -> Randomness:
    return SecureRandomness() if request.param == "secure" else KeyedRandomness(np.random.default_rng(4))


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


def test_every_secure_bit_comes_from_the_secure_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its generator stuck at zero there is no noise at all: no other source is mixed in, or fallen back to."""
    monkeypatch.setattr("ssl.RAND_bytes", bytes)
    out = torch.ones(5)
    SecureRandomness().normal_(out)
    assert not out.any()
    assert not SecureRandomness().uniform(3).any()


def test_each_says_which_it_is() -> None:
    assert KeyedRandomness(np.random.default_rng(0)).name == "keyed streams (simulation only)"
    assert SecureRandomness().name == "OpenSSL (ssl.RAND_bytes)"

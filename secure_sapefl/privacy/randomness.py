"""Where noise and samples come from.

Simulations draw from keyed streams, so that a run can be repeated. Whoever could guess such a key could subtract the
noise: a site that serves real records draws from a cryptographically secure generator, and a run says which it used.
"""

import os
import ssl
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from secure_sapefl.streams import Purpose

GeneratorName = Literal["keyed streams (simulation only)", "OpenSSL (ssl.RAND_bytes)", "operating system (os.urandom)"]

_SUMMANDS = 4


class Randomness(Protocol):
    """One site's random numbers for one purpose in one round."""

    @property
    def name(self) -> GeneratorName: ...

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        """In [0, 1)."""

    def normal_(self, out: Tensor) -> None:
        """Fill with independent standard normal numbers."""


RandomnessFor = Callable[[Purpose], Sequence[Randomness]]
"""Of each site of a group, for a purpose."""


def generator_on(device: torch.device) -> torch.Generator:
    return torch.Generator(device)


class KeyedRandomness:
    """Reproducible, not secret."""

    name: GeneratorName = "keyed streams (simulation only)"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._torch: dict[torch.device, torch.Generator] = {}
        self._seed = int(rng.integers(1 << 62))
        self._numpy: np.random.Generator | None = None

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        return self._rng.random(shape)

    def normal_(self, out: Tensor) -> None:
        """32-bit normal numbers are drawn faster by torch's generator, 64-bit ones by numpy's; a few times each."""
        if out.dtype == torch.float64 and out.device.type == "cpu":
            out.copy_(torch.from_numpy(self._doubles.standard_normal(out.shape)))
            return
        if out.device not in self._torch:
            self._torch[out.device] = generator_on(out.device).manual_seed(self._seed)
        out.normal_(generator=self._torch[out.device])

    @property
    def _doubles(self) -> np.random.Generator:
        """Apart from `uniform`'s, like torch's: how many records were drawn does not move the noise."""
        self._numpy = self._numpy or np.random.default_rng(self._seed)
        return self._numpy


class SecureRandomness:
    """Every bit from OpenSSL's generator, which the operating system seeds and which is ten times as fast as asking it.

    The low bits of a floating-point Gaussian can give away what it was added to (Mironov, CCS 2012). A sum of several
    draws, scaled back, hides them (Holohan and Braghin 2021, arXiv:2107.10138), as in Opacus' secure mode.
    """

    name: GeneratorName = "OpenSSL (ssl.RAND_bytes)"

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        bits = np.frombuffer(ssl.RAND_bytes(8 * int(np.prod(shape))), dtype=np.uint64)
        return ((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)

    def normal_(self, out: Tensor) -> None:
        total = sum(self._box_muller(out.numel()) for _ in range(_SUMMANDS))
        out.copy_(torch.from_numpy(total / np.sqrt(_SUMMANDS)).view(out.shape))

    def _box_muller(self, count: int) -> NDArray[np.float64]:
        half = -(-count // 2)
        radius = np.sqrt(-2 * np.log1p(-self.uniform(half)))
        angle = 2 * np.pi * self.uniform(half)
        return np.concatenate((radius * np.cos(angle), radius * np.sin(angle)))[:count]


class SystemRandomness:
    """Every bit from the operating system's generator. For noise that is rounded to a grid, which hides the low bits of
    a floating-point Gaussian by itself: one draw a number is enough."""

    name: GeneratorName = "operating system (os.urandom)"

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        return ((self._bits(int(np.prod(shape))) >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)

    def normal_(self, out: Tensor) -> None:
        """Box and Muller. The radius has 64 bits, so that the tail ends at 9.5 deviations and not at 8.6."""
        half = -(-out.numel() // 2)
        radius = np.sqrt(-2 * np.log((self._bits(half).astype(np.float64) + 0.5) * 2.0**-64))
        angle = 2 * np.pi * self.uniform(half)
        drawn = np.concatenate((radius * np.cos(angle), radius * np.sin(angle)))[: out.numel()]
        out.copy_(torch.from_numpy(drawn).view(out.shape))

    def _bits(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

from dataclasses import replace

import numpy as np
import pytest

from sapefl_crypto import Parameters
from sapefl_crypto.derivation import derive, keystream
from sapefl_crypto.occasion import Kind, Occasion
from sapefl_crypto.secret import Secret
from sapefl_crypto.tags import TagMaker

ROOT = Secret(bytes(range(32)))


@pytest.fixture
def occasion(params: Parameters) -> Occasion:
    return Occasion.bound_to(params, Kind.WEIGHTED, study="s", round_index=3, length=5000)


def test_tags_are_linear_in_data_and_offsets(params: Parameters, occasion: Occasion) -> None:
    tagger, rng = TagMaker(ROOT, params, occasion), np.random.default_rng(1)
    (a, b), (s, t) = rng.normal(size=(2, params.data_slots)), rng.normal(size=(2, 8))
    joint = tagger.tags(2 * a + 3 * b, 2 * s + 3 * t)
    assert joint == pytest.approx(2 * tagger.tags(a, s) + 3 * tagger.tags(b, t), abs=1e-12)


def test_functional_matches_its_formula(params: Parameters, occasion: Occasion) -> None:
    """m = <r, x> / sqrt(n) with r read from the documented keystream."""
    key = derive(ROOT, "tag functional", occasion.to_bytes())
    r = np.frombuffer(keystream(key, 0, 16 * 4088), "<i2").reshape(8, 4088) / 2.0**15
    x = np.random.default_rng(2).normal(size=4088)
    expected = [float(np.sum(row * x)) / 4088**0.5 for row in r]
    assert TagMaker(ROOT, params, occasion).tags(x, np.zeros(8)) == pytest.approx(expected, abs=1e-12)


def test_every_part_of_the_occasion_changes_every_tag(params: Parameters, occasion: Occasion) -> None:
    others = [
        replace(occasion, kind=Kind.HIDDEN),
        replace(occasion, study_digest=bytes(32)),
        replace(occasion, params_digest=bytes(16)),
        replace(occasion, round_index=4),
        replace(occasion, length=5001),
    ]
    x, zeros = np.ones(params.data_slots), np.zeros(8)
    makers = [TagMaker(ROOT, params, each) for each in (occasion, *others)]
    makers.append(TagMaker(Secret(bytes(32)), params, occasion))
    functionals = {tuple(maker.tags(x, zeros)) for maker in makers}
    offsets = {tuple(maker.offsets("a", bytes(16), 1)[0]) for maker in makers}
    assert len(functionals) == len(offsets) == len(makers)


def test_offsets_are_unique_per_sender_nonce_chunk_and_tag(params: Parameters, occasion: Occasion) -> None:
    tagger = TagMaker(ROOT, params, occasion)
    frames = [("a", bytes(16)), ("b", bytes(16)), ("a", b"\1" + bytes(15)), ("a\0", bytes(16))]
    values = np.stack([tagger.offsets(sender, nonce, 5) for sender, nonce in frames])
    assert len(set(values.ravel())) == len(frames) * 5 * 8
    assert (np.abs(values) <= 1).all()


def test_equal_chunks_of_a_frame_have_different_tags(params: Parameters, occasion: Occasion) -> None:
    tagger, x = TagMaker(ROOT, params, occasion), np.ones(params.data_slots)
    offsets = tagger.offsets("a", bytes(16), 50)
    assert len({tuple(tagger.tags(x, offsets[chunk])) for chunk in range(50)}) == 50


def test_derivation_separates_purposes_and_fields() -> None:
    keys = [derive(ROOT, *about).reveal() for about in (("a", "bc"), ("ab", "c"), ("abc",), ("a", "b", "c"), ("a", 1))]
    assert len(set(keys)) == len(keys)

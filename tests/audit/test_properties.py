"""Property inference finds what was put there, and nothing in noise."""

from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.audit.properties import Inference, infer_properties
from secure_sapefl.data import ClientData, Federation, Rows


@pytest.fixture
def federation() -> Federation:
    """Twenty sites of two labels, from one-sided to even, and of growing size."""

    def rows(count: int, share: float) -> Rows:
        y = (np.arange(count) < share * count).astype(np.int64)
        return Rows(np.zeros((count, 2), np.float32), y)

    clients = tuple(
        ClientData(name=f"s{c}", train=rows(40 + (7 * c) % 20, 0.5 * c / 19), test=rows(4, 0.5)) for c in range(20)
    )
    return Federation(
        dataset="d", shape=(2,), class_names=("a", "b"), clients=clients, source="made up", partition="iid"
    )


def works(one: Inference) -> bool:
    return one.p_value < 0.05 and one.r_squared > 0


def found(histories: dict[str, dict[int, float]], federation: Federation) -> dict[str, Inference]:
    inferred = infer_properties(histories, federation, np.random.default_rng(0))
    assert not isinstance(inferred, str)
    return {one.what: one for one in inferred}


def test_scores_that_follow_the_label_mix_give_it_away(federation: Federation) -> None:
    rng = np.random.default_rng(1)
    histories = {f"s{c}": {t: c / 19 + 0.05 * rng.normal() for t in range(4)} for c in range(20)}
    inferred = found(histories, federation)
    assert works(inferred["label entropy"])
    assert inferred["label mix"].r_squared > 0.8
    assert inferred["label entropy"].correlation == pytest.approx(1.0, abs=0.05)
    assert not works(inferred["training rows"])


def test_noise_gives_nothing_away(federation: Federation) -> None:
    rng = np.random.default_rng(2)
    histories = {f"s{c}": {t: rng.normal() for t in range(4)} for c in range(20)}
    assert not any(works(one) for one in found(histories, federation).values())


def test_too_few_sites_or_equal_numbers_are_said(federation: Federation) -> None:
    few = {f"s{c}": {0: float(c)} for c in range(5)}
    equal = {f"s{c}": {0: 1.0, 1: 1.0} for c in range(20)}
    rng = np.random.default_rng(0)
    assert "too few" in str(infer_properties(few, federation, rng))
    assert "same numbers" in str(infer_properties(equal, federation, rng))
    assert "too few" in str(infer_properties({}, replace(federation), rng))

"""Forms of the same gradients say the same of norms, sums, differences and records that are no numbers."""

import pytest
import torch

from secure_sapefl.privacy.record_gradients import (
    ConvolutionGradients,
    DenseGradients,
    LinearGradients,
    differences,
    squared_norms,
)

RANDOM = torch.Generator().manual_seed(0)


def linear() -> LinearGradients:
    return LinearGradients(torch.randn((2, 4, 3), generator=RANDOM), torch.randn((2, 4, 5), generator=RANDOM))


def dense(one: LinearGradients) -> list[DenseGradients]:
    """d a^T and d, formed."""
    return [DenseGradients(one.slopes.unsqueeze(3) * one.inputs.unsqueeze(2)), DenseGradients(one.slopes)]


def test_norms_and_sums_of_what_is_formed_are_those_of_what_is_not() -> None:
    one, factors = linear(), torch.rand((2, 4), generator=RANDOM)
    torch.testing.assert_close(squared_norms(dense(one)), squared_norms([one]))
    parts = [part for form in dense(one) for part in form.combined(factors)]
    torch.testing.assert_close(parts, list(one.combined(factors)))
    assert [part.shape for part in parts] == [(2, 5, 3), (2, 5)]


def test_so_are_differences() -> None:
    ahead, behind = linear(), linear()
    closed = differences([ahead], [behind])
    formed = differences(dense(ahead), dense(behind))
    torch.testing.assert_close(squared_norms(formed), squared_norms(closed), atol=1e-4, rtol=1e-4)


def test_an_unsound_record_is_0_in_every_form() -> None:
    sound = torch.ones((2, 4), dtype=torch.bool)
    sound[1, 2] = False
    convolution = ConvolutionGradients(torch.full((2, 4, 2, 9), torch.inf), torch.ones(2, 4, 2))
    for form in (linear(), *dense(linear()), convolution):
        norms = form.only(sound).squared_norms()
        assert norms[1, 2] == 0
        assert (norms[0] > 0).all()


def test_gradients_of_different_layers_have_no_difference() -> None:
    one = linear()
    with pytest.raises(TypeError, match="not gradients of one layer"):
        differences([one], dense(one)[:1])

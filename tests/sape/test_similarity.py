"""Eq. 7 and Eq. 9-11: what holds for any models, and what happens at the edges of arithmetic."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from secure_sapefl.sape.similarity import (
    OutputForm,
    clipped_cosine,
    combined,
    few,
    output_similarity,
    similarity_scores,
    vartheta,
    weight_similarity,
)

FORMS: tuple[OutputForm, ...] = ("flattened", "per_sample")
quick = settings(deadline=None, max_examples=40)
any_float = st.floats(width=32, allow_nan=True, allow_infinity=True)
seeds = st.integers(0, 2**32 - 1)
influences = st.floats(0, 1)


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((1, 0), (1, 0), 0),
        ((1, 0), (0, 1), 1),
        ((1, 0), (-1, 0), 1),  # opposite is no more unlike than orthogonal: max(0, .)
        ((1, 0), (1, 1), 1 - 0.5**0.5),
        ((3, 4), (4, 3), 1 - 24 / 25),
        ((0, 0), (1, 1), 1),
        ((0, 0), (0, 0), 1),
    ],
)
def test_vartheta_by_hand(a: tuple[float, ...], b: tuple[float, ...], expected: float) -> None:
    got = vartheta(torch.tensor(a, dtype=torch.float32), torch.tensor(b, dtype=torch.float32))
    torch.testing.assert_close(got, torch.tensor(float(expected)))


@given(st.lists(st.tuples(any_float, any_float), min_size=1, max_size=6))
@quick
def test_vartheta_stays_in_0_1_whatever_it_is_fed(pairs: list[tuple[float, float]]) -> None:
    a, b = torch.tensor(pairs).unbind(1)
    for value in (vartheta(a, b), 1 - weight_similarity(a[None], b[None])):
        assert ((value >= 0) & (value <= 1)).all()  # false for NaN


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 1e3, 1e15, 1e25, 3e38])
def test_no_size_of_model_gives_nan(size: float) -> None:
    theta = torch.full((2, 4), size)
    for value in (clipped_cosine(theta, theta), weight_similarity(theta, theta)):
        assert ((value >= 0) & (value <= 1)).all()


def test_rounding_never_makes_a_vector_more_than_like_itself() -> None:
    """Among 2,000 float32 vectors the quotient itself exceeds 1 for many."""
    theta = normal(0, 2_000, 37)
    for same in (clipped_cosine(theta, theta), weight_similarity(theta, theta).diagonal()):
        assert same.max() == 1
        assert same.min() > 1 - 1e-6


def test_zero_vector_has_a_finite_gradient() -> None:
    """At a cosine of exactly 0 the penalty has a kink; its gradient there is 0, not b divided by almost nothing."""
    zero = torch.zeros(3, requires_grad=True)
    vartheta(zero, torch.tensor([1.0, 2, 3])).backward()
    assert zero.grad is not None
    assert zero.grad.tolist() == [0, 0, 0]


@given(seeds, st.floats(0.125, 8), st.floats(0.125, 8))
@quick
def test_only_direction_counts(seed: int, left: float, right: float) -> None:
    a, b = normal(seed, 2, 5)
    torch.testing.assert_close(vartheta(left * a, right * b), vartheta(a, b))


@given(seeds)
@quick
def test_vartheta_is_symmetric(seed: int) -> None:
    a, b = normal(seed, 2, 5)
    torch.testing.assert_close(vartheta(a, b), vartheta(b, a))


@given(seeds)
@quick
def test_matrix_product_form_of_eq_11_equals_pair_by_pair(seed: int) -> None:
    own, peers = normal(seed, 3, 6), normal(seed + 1, 4, 6)
    pairs = torch.stack([torch.stack([1 - vartheta(c, j) for j in peers]) for c in own])
    torch.testing.assert_close(weight_similarity(own, peers), pairs)


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds)
@quick
def test_equal_to_all_peers_means_1(form: OutputForm, seed: int) -> None:
    theta, outputs = normal(seed, 1, 6), normal(seed, 1, 4, 3)
    peers = outputs.expand(5, 1, 4, 3)
    output = output_similarity(outputs, peers, torch.ones(1, 4), form).T
    weight = weight_similarity(theta, theta.expand(5, 6))
    torch.testing.assert_close(combined(0.5, lambda: output, lambda: weight), torch.ones(1, 5))


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds, influence=influences, sites=st.integers(1, 5), peers=st.integers(1, 5))
@quick
def test_scores_lie_between_0_and_the_number_of_peers(
    form: OutputForm, seed: int, influence: float, sites: int, peers: int
) -> None:
    output = output_similarity(normal(seed, sites, 4, 3), normal(seed + 1, peers, sites, 4, 3), torch.ones(1, 4), form)
    weight = weight_similarity(normal(seed, sites, 7), normal(seed + 1, peers, 7))
    received = normal(seed + 2, sites, peers) > 0
    scores = similarity_scores(combined(influence, lambda: output.T, lambda: weight), received)
    assert ((scores >= 0) & (scores <= received.sum(1))).all()


@given(influences)
@quick
def test_perfect_scores_never_exceed_the_bound_by_rounding(influence: float) -> None:
    """The server refuses a score above the number of peers, so not even the last bit may overshoot."""
    one = torch.ones(1, 70)
    everything = combined(influence, lambda: one, lambda: one)
    assert similarity_scores(everything, torch.ones(1, 70, dtype=torch.bool)).item() <= 70


@pytest.mark.parametrize("form", FORMS)
def test_output_similarity_ignores_padding(form: OutputForm) -> None:
    own, peers = normal(1, 2, 4, 3), normal(2, 5, 2, 4, 3)
    present = torch.tensor([[1.0, 1, 1, 1], [1, 1, 0, 0]])
    before = output_similarity(own, peers, present, form)
    alone = output_similarity(own[1:, :2], peers[:, 1:, :2], present[1:, :2], form)
    torch.testing.assert_close(before[:, 1:], alone)
    own[1, 2:], peers[:, 1, 2:] = 1e6, -1e6
    torch.testing.assert_close(output_similarity(own, peers, present, form), before, atol=0, rtol=0)


@pytest.mark.parametrize("form", FORMS)
def test_no_row_at_all_is_like_nothing(form: OutputForm) -> None:
    """A batch drawn by chance may come out empty."""
    assert output_similarity(normal(1, 1, 2, 3), normal(2, 4, 1, 2, 3), torch.zeros(1, 2), form).tolist() == [[0]] * 4


def test_the_two_forms_by_hand() -> None:
    """Rows (1, 0) against (1, 0) and (0, 3) against (3, 0): per sample (1 + 0)/2; flattened 1/sqrt(10)/sqrt(10)."""
    own, peer = torch.tensor([[[1.0, 0], [0, 3]]]), torch.tensor([[[[1.0, 0], [3, 0]]]])
    present = torch.ones(1, 2)
    torch.testing.assert_close(output_similarity(own, peer, present, "per_sample"), torch.tensor([[0.5]]))
    torch.testing.assert_close(output_similarity(own, peer, present, "flattened"), torch.tensor([[0.1]]))


@given(seed=seeds, rows=st.integers(1, 9))
@quick
def test_one_record_moves_the_per_sample_form_by_at_most_1_over_m(seed: int, rows: int) -> None:
    """The bounded sensitivity that a noisy score relies on."""
    own, peer = normal(seed, 1, rows, 3), normal(seed + 1, 1, 1, rows, 3)
    present = torch.ones(1, rows)
    before = output_similarity(own, peer, present, "per_sample")
    own[0, 0], peer[0, 0, 0] = normal(seed + 2, 2, 3) * 1e3
    after = output_similarity(own, peer, present, "per_sample")
    assert (after - before).abs().item() <= 1 / rows + 1e-6


def test_influence_at_its_ends_does_not_look_at_the_other_part() -> None:
    def forbidden() -> Tensor:
        raise AssertionError("this part must not be computed")

    part = torch.tensor([[0.25]])
    assert combined(0, forbidden, lambda: part) is part
    assert combined(1, lambda: part, forbidden) is part


@given(seed=seeds, influence=influences)
@quick
def test_permuting_sites_and_peers_permutes_the_matrix(seed: int, influence: float) -> None:
    own, peers = normal(seed, 3, 5), normal(seed + 1, 4, 5)
    straight = weight_similarity(own, peers)
    for sites in itertools.permutations(range(3)):
        shuffled = weight_similarity(own[list(sites)], peers.flip(0))
        torch.testing.assert_close(shuffled, straight[list(sites)].flip(1))


def test_a_few_pairs_are_as_alike_as_among_all() -> None:
    own, peers = normal(1, 3, 5), normal(2, 90, 5)
    asked = torch.zeros((3, 90), dtype=torch.bool)
    asked[0, [4, 80]] = asked[2, 7] = True
    assert few(asked)
    assert not few(torch.ones_like(asked))
    expected = weight_similarity(own, peers)
    torch.testing.assert_close(weight_similarity(own, peers, torch.ones_like(asked)), expected, rtol=0, atol=0)
    torch.testing.assert_close(weight_similarity(own, peers, asked), expected * asked)

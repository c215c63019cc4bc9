"""Two rounds, three clients, two parameters: Eq. 6-12 worked by hand.

A client's model is f(theta, x) = x . theta, one output a row. Throughout, h = 1/sqrt(2) = 0.70711, influence = 1/2 and
S_min = 0.4. The client's own rows:

    D_1 = (1, 1)            f(theta, D_1) = theta_1 + theta_2
    D_2 = (1, 0), (0, 1)    f(theta, D_2) = theta
    D_3 = (1, -1), (0, 1)   f(theta, D_3) = (theta_1 - theta_2, theta_2)
"""

import math

import pytest
import torch
from torch import Tensor

from secure_sapefl.sape.anchors import PeerAnchors, peer_anchors
from secure_sapefl.sape.objective import Anchors, CosineAnchored
from secure_sapefl.sape.similarity import combined, output_similarity, similarity_scores, weight_similarity
from secure_sapefl.training.objective import Batch
from tests.global_step import aggregate

H = 1 / math.sqrt(2)
INFLUENCE, S_MIN = 0.5, 0.4
ROWS = torch.tensor([[[1.0, 1], [0, 0]], [[1, 0], [0, 1]], [[1, -1], [0, 1]]])  # D_1 is padded to two rows
PRESENT = torch.tensor([[1.0, 0], [1, 1], [1, 1]])
OTHERS = ~torch.eye(3, dtype=torch.bool)


def outputs(theta: Tensor) -> Tensor:
    """f(theta_j, D_c) for every client c and model j, [J, G, m, 1]."""
    return torch.einsum("gmp,jp->jgm", ROWS, theta).unsqueeze(-1)


def similarity(theta: Tensor) -> Tensor:
    everyone = outputs(theta)
    own = everyone[torch.arange(3), torch.arange(3)]
    return combined(
        INFLUENCE,
        lambda: output_similarity(own, everyone, PRESENT, "flattened").T,
        lambda: weight_similarity(theta, theta),
    )


def anchors(theta: Tensor) -> PeerAnchors:
    return peer_anchors(similarity(theta), OTHERS, theta, S_MIN)


THETA_0 = torch.tensor([[1.0, 1]]).repeat(3, 1)  # round 1: everybody stands at theta_G^0 = (1, 1)
THETA_1 = torch.tensor([[1.0, 0], [0, 1], [1, 1]])  # round 2: what the personal step of round 1 left


def test_round_1_everybody_is_everybodys_equal() -> None:
    """theta_c^0 = theta_G^0, so every S_cj = 1, every s_c = 2 and every anchor is (1, 1)."""
    torch.testing.assert_close(similarity(THETA_0), torch.ones(3, 3))
    torch.testing.assert_close(similarity_scores(similarity(THETA_0), OTHERS), torch.full((3,), 2.0))
    torch.testing.assert_close(anchors(THETA_0).theta, THETA_0)


def test_round_1_global_step_is_the_plain_mean() -> None:
    """(1, 1) + [2 (3, 0) + 2 (0, 3) + 2 (0, 0)] / 6 = (2, 2)."""
    updates = torch.tensor([[3.0, 0], [0, 3], [0, 0]])
    moved = aggregate(THETA_0[0], updates, torch.full((3,), 2.0))
    torch.testing.assert_close(moved, torch.tensor([2.0, 2]))


def test_round_2_similarities() -> None:
    """Weights (Eq. 11): cos(1, 2) = 0, cos(1, 3) = cos(2, 3) = h. Outputs (Eq. 10):

    on D_1: 1, 1, 2       -> all alike: 1, 1
    on D_2: the weights   -> with 1: 0, with 3: h
    on D_3: f_3 = (0, 1), f_1 = (1, 0), f_2 = (-1, 1) -> with 1: 0, with 2: h

    and S_cj is the mean of the two (Eq. 9).
    """
    expected = torch.tensor([[1, 0.5, (1 + H) / 2], [0, 1, H], [H / 2, H, 1]])
    torch.testing.assert_close(similarity(THETA_1), expected)


def test_round_2_scores() -> None:
    """s_1 = 1/2 + (1 + h)/2 = 1.35355, s_2 = 0 + h = 0.70711, s_3 = h/2 + h = 1.06066: the filter plays no part."""
    expected = torch.tensor([1.35355, 0.70711, 1.06066])
    torch.testing.assert_close(similarity_scores(similarity(THETA_1), OTHERS), expected, atol=1e-5, rtol=0)


def test_round_2_filter_and_peer_anchors() -> None:
    """Above 0.4: client 1 keeps 2 (0.5) and 3 (0.85355), client 2 keeps 3, client 3 keeps 2 (0.35355 falls).

    theta_bar_1 = [0.5 (0, 1) + 0.85355 (1, 1)] / 1.35355 = (0.63060, 1)
    """
    result = anchors(THETA_1)
    assert result.passed.tolist() == [2, 1, 1]
    assert result.present.all()
    expected = torch.tensor([[0.63060, 1], [1, 1], [0, 1]])
    torch.testing.assert_close(result.theta, expected, atol=1e-5, rtol=0)


def test_round_2_global_step() -> None:
    """sum s = 1 + 3h = 3.12132; (2, 2) + [s_1 (1, 0) + s_2 (0, 1) + s_3 (1, 1)] / sum s

    = (2 + (1 + 2h) / 3.12132, 2 + 2.5h / 3.12132) = (2.77346, 2.56635)
    """
    scores = similarity_scores(similarity(THETA_1), OTHERS)
    moved = aggregate(torch.tensor([2.0, 2]), THETA_1, scores)  # Delta_c happen to equal theta_c
    torch.testing.assert_close(moved, torch.tensor([2.77346, 2.56635]), atol=1e-5, rtol=0)


def test_round_2_coefficients() -> None:
    """Eq. 6 at theta_c with the anchors above and theta_G = (2, 2):

    S^P_1: outputs 0 (one row, same sign); weights 1 - 0.63060 / sqrt(0.63060^2 + 1) = 0.46660 -> 0.23330
    S^P_2: outputs and weights 1 - h = 0.29289 -> 0.29289; S^P_3 likewise
    S^G_1: outputs 0; weights 1 - h -> 0.14645
    S^G_2: 1 - h on both -> 0.29289
    S^G_3: theta_3 is parallel to theta_G -> 0
    """
    dual, own = dual_anchors(), outputs(THETA_1)[torch.arange(3), torch.arange(3)]
    expected = torch.tensor([[0.23330, 0.14645], [0.29289, 0.29289], [0.29289, 0]])
    coefficients = dual.coefficients(THETA_1, own, PRESENT, INFLUENCE, "flattened")
    torch.testing.assert_close(coefficients, expected, atol=1e-5, rtol=0)


def test_round_2_penalty_of_eq_5_is_the_sum_of_both_coefficients() -> None:
    """S^P + S^G per client: 0.37975, 0.58579, 0.29289; one class has cross-entropy 0, so nothing else is left."""
    own = outputs(THETA_1)[torch.arange(3), torch.arange(3)]
    everything = Batch(
        x=ROWS,
        y=torch.zeros(3, 2, dtype=torch.int64),
        rows=torch.tensor([[0, 1]]).repeat(3, 1),
        weight=PRESENT / PRESENT.sum(1, keepdim=True),
    )
    objective = CosineAnchored(dual_anchors(), INFLUENCE, "flattened")
    penalty = objective.weight_penalty(THETA_1)
    assert penalty is not None
    total = objective.loss(own, everything) + penalty
    torch.testing.assert_close(total, torch.tensor([0.37975, 0.58579, 0.29289]), atol=1e-5, rtol=0)


def dual_anchors() -> Anchors:
    peer, theta_global = anchors(THETA_1).theta, torch.tensor([2.0, 2])
    on_own_rows = [torch.einsum("gmp,gp->gm", ROWS, theta.expand(3, 2)).unsqueeze(-1) for theta in (peer, theta_global)]
    return Anchors.stacked((peer, theta_global), on_own_rows, (torch.ones(3), torch.ones(3)))


@pytest.mark.parametrize(
    ("threshold", "passed"), [(0.0, [2, 1, 2]), (0.6, [1, 1, 1]), (0.8, [1, 0, 0]), (1.0, [0] * 3)]
)
def test_round_2_other_thresholds(threshold: float, passed: list[int]) -> None:
    """S_21 = 0 never passes, S > S_min is strict, and at 1 nobody is left."""
    result = peer_anchors(similarity(THETA_1), OTHERS, THETA_1, threshold)
    assert result.passed.tolist() == passed
    assert result.present.tolist() == [count > 0 for count in passed]

"""Eq. 5 and 6 as an objective: closed-form gradients against autograd, and what padding and strength may do."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from secure_sapefl.sape.objective import Anchors, CosineAnchored, ProximalAnchored
from secure_sapefl.sape.similarity import OutputForm, output_similarity
from secure_sapefl.training.objective import Batch, LocalLoss, Objective

FORMS: tuple[OutputForm, ...] = ("flattened", "per_sample")
SITES, ROWS, CLASSES, WEIGHTS = 4, 6, 3, 7
quick = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**32 - 1)
influences = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def anchors(seed: int, dtype: torch.dtype = torch.float64) -> Anchors:
    """A peer anchor a site, one of them absent, and one global anchor that all share."""
    random = torch.Generator().manual_seed(seed)
    peer, shared = torch.randn((SITES + 1, WEIGHTS), generator=random, dtype=dtype).split([SITES, 1])
    outputs = torch.randn((2, SITES, ROWS, CLASSES), generator=random, dtype=dtype)
    strengths = torch.rand((2, SITES), generator=random, dtype=dtype)
    peer[1], outputs[0, 1], strengths[0, 1] = 0, 0, 0
    return Anchors.stacked((peer, shared[0]), list(outputs), list(strengths))


def weights(seed: int) -> Tensor:
    return torch.randn((SITES, WEIGHTS), generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)


def batch(seed: int) -> tuple[Tensor, Batch]:
    """Logits and rows of one step; sites 1 and 3 have a partial batch."""
    random = torch.Generator().manual_seed(seed + 2)
    present = torch.tensor([[1.0, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], dtype=torch.float64)
    step = Batch(
        x=torch.zeros(SITES, 4, 1),
        y=torch.randint(CLASSES, (SITES, 4), generator=random),
        rows=torch.randint(ROWS, (SITES, 4), generator=random),
        weight=present / present.sum(1, keepdim=True),
    )
    return torch.randn((SITES, 4, CLASSES), generator=random, dtype=torch.float64), step


def assert_pull_is_the_gradient(objective: Objective, theta: Tensor) -> None:
    leaf = theta.clone().requires_grad_()
    penalty, pull = objective.weight_penalty(leaf), objective.weight_pull(theta)
    assert penalty is not None
    assert pull is not None
    (expected,) = torch.autograd.grad(penalty.sum(), leaf)
    torch.testing.assert_close(pull.dense(theta), expected)
    stepped = theta.clone()
    pull.step_(stepped, 0.1)
    torch.testing.assert_close(stepped, theta - 0.1 * expected)


@given(seeds, st.sampled_from([0.0, 0.25, 0.9]))
@quick
def test_cosine_pull_is_the_gradient_of_its_penalty(seed: int, influence: float) -> None:
    """Random directions: about half the cosines are negative, where the pull must be 0."""
    assert_pull_is_the_gradient(CosineAnchored(anchors(seed), influence, "flattened"), weights(seed))


@given(seeds)
@quick
def test_proximal_pull_is_the_gradient_of_its_penalty(seed: int) -> None:
    assert_pull_is_the_gradient(ProximalAnchored(anchors(seed)), weights(seed))


def test_cosine_pull_by_hand() -> None:
    """theta = (1, 0), anchor (1, 1): d(1 - cos) = -(a/(|t||a|) - cos t/|t|^2) = (0, -0.70711)."""
    one = Anchors.stacked((torch.tensor([1.0, 1]),), [], (torch.ones(1),))
    theta = torch.tensor([[1.0, 0]])
    pull = CosineAnchored(one, 0.0, "flattened").weight_pull(theta)
    assert pull is not None
    torch.testing.assert_close(pull.dense(theta), torch.tensor([[0, -(0.5**0.5)]]))


@pytest.mark.parametrize("direction", [[-1.0, -1.0], [1.0, -1.0], [0.0, 0.0]])
def test_no_pull_towards_opposite_orthogonal_or_absent_anchors(direction: list[float]) -> None:
    one = Anchors.stacked((torch.tensor([direction]),), [], (torch.ones(1),))
    theta = torch.tensor([[1.0, 1]])
    objective = CosineAnchored(one, 0.0, "flattened")
    assert_pull_is_the_gradient(objective, theta)
    pull = objective.weight_pull(theta)
    assert pull is not None
    assert pull.dense(theta).tolist() == [[0, 0]]


def test_a_zero_model_is_not_thrown_to_infinity() -> None:
    objective = CosineAnchored(Anchors.stacked((torch.tensor([1.0, 2]),), [], (torch.ones(1),)), 0.0, "flattened")
    assert_pull_is_the_gradient(objective, torch.zeros(1, 2))


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds)
@quick
def test_zero_strength_is_plain_training(form: OutputForm, seed: int) -> None:
    given_anchors = anchors(seed)
    silent = replace(given_anchors, strength=0 * given_anchors.strength)
    (logits, step), theta = batch(seed), weights(seed)
    for objective in (CosineAnchored(silent, 0.5, form), ProximalAnchored(silent)):
        assert torch.equal(objective.loss(logits, step), LocalLoss().loss(logits, step))
        pull = objective.weight_pull(theta)
        assert pull is not None
        assert not pull.dense(theta).any()


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds, influence=influences)
@quick
def test_padding_never_matters(form: OutputForm, seed: int, influence: float) -> None:
    """Whatever stands in rows of weight 0: same loss, same gradient, and no gradient into padding."""
    logits, step = batch(seed)
    objective = CosineAnchored(anchors(seed), influence, form)
    changed = torch.where(step.weight.unsqueeze(-1) > 0, logits, 37.0)
    results = []
    for values in (logits, changed):
        leaf = values.clone().requires_grad_()
        loss = objective.loss(leaf, step)
        results.append((loss.detach(), *torch.autograd.grad(loss.sum(), leaf)))
    torch.testing.assert_close(results[0], results[1], atol=0, rtol=0)
    assert not results[0][1][step.weight == 0].any()


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds, influence=influences)
@quick
def test_narrow_is_the_same_objective_for_some_sites(form: OutputForm, seed: int, influence: float) -> None:
    (logits, step), theta, part = batch(seed), weights(seed), slice(1, 3)
    fewer = Batch(step.x[part], step.y[part], step.rows[part], step.weight[part])
    for objective in (CosineAnchored(anchors(seed), influence, form), ProximalAnchored(anchors(seed))):
        narrow = objective.narrow(part)
        torch.testing.assert_close(narrow.loss(logits[part], fewer), objective.loss(logits, step)[part])
        whole, some = objective.weight_pull(theta), narrow.weight_pull(theta[part])
        assert (whole is None) == (some is None)
        if whole is not None and some is not None:
            torch.testing.assert_close(some.dense(theta[part]), whole.dense(theta)[part])


def test_influence_0_reads_no_data() -> None:
    """Anchors without outputs will do, and NaN outputs of one's own change nothing."""
    thetas = (torch.tensor([[1.0, 1]]), torch.tensor([0.0, 1]))
    silent = Anchors.stacked(thetas, [], (torch.ones(1), torch.ones(1)))
    theta, nan = torch.tensor([[1.0, 0]]), torch.full((1, 2, 3), torch.nan)
    coefficients = silent.coefficients(theta, nan, torch.ones(1, 2), 0, "flattened")
    torch.testing.assert_close(coefficients, torch.tensor([[1 - 0.5**0.5, 1]]))


def test_influence_1_reads_no_weights() -> None:
    nan = torch.full((1, 2), torch.nan)
    outputs = torch.tensor([[[1.0, 0]]])
    only = Anchors.stacked((nan,), [outputs], (torch.ones(1),))
    objective = CosineAnchored(only, 1, "flattened")
    assert objective.weight_penalty(nan) is None
    assert objective.weight_pull(nan) is None
    torch.testing.assert_close(
        only.coefficients(nan, torch.tensor([[[0.0, 2]]]), torch.ones(1, 1), 1, "flattened"), torch.ones(1, 1)
    )


def test_output_penalty_by_hand() -> None:
    """Cross-entropy of logits (0, 0) is log 2; of (1, 0) against an anchor answering (0, 1), vartheta is 1.

    Strength 2 and influence 1/4: log(1 + e^-1) + 1/4 * 2 * 1.
    """
    only = Anchors.stacked((torch.zeros(1, 2),), [torch.tensor([[[0.0, 1]]])], (torch.full((1,), 2.0),))
    step = Batch(torch.zeros(1, 1, 1), torch.tensor([[0]]), torch.tensor([[0]]), torch.ones(1, 1))
    loss = CosineAnchored(only, 0.25, "flattened").loss(torch.tensor([[[1.0, 0]]]), step)
    torch.testing.assert_close(loss, torch.tensor([0.31326169 + 0.5]))


@given(seed=seeds, influence=influences)
@quick
def test_records_one_by_one_add_up_to_the_per_sample_loss(seed: int, influence: float) -> None:
    """What private training clips record by record is the same objective, taken apart."""
    logits, step = batch(seed)
    for objective in (CosineAnchored(anchors(seed), influence, "per_sample"), ProximalAnchored(anchors(seed))):
        taken_apart = (objective.record_loss(logits, step) * step.weight).sum(1)
        torch.testing.assert_close(taken_apart, objective.loss(logits, step))


@given(seed=seeds)
@quick
def test_a_record_answers_for_itself_alone(seed: int) -> None:
    """Its part of the objective does not move when another record changes: what clipping relies on."""
    logits, step = batch(seed)
    objective = CosineAnchored(anchors(seed), 0.5, "flattened")
    before = objective.record_loss(logits, step)
    logits[:, 0] = 9.0
    torch.testing.assert_close(objective.record_loss(logits, step)[:, 1:], before[:, 1:], atol=0, rtol=0)


@given(seed=seeds, influence=st.floats(0, 0.9))
@quick
def test_anchors_on_the_same_side_pull_as_one(seed: int, influence: float) -> None:
    """What a stack is trained with, where the shortcut holds, is still the gradient of the penalty.

    It holds where the anchors' angles are small beside the weakest one's share, so none may be all but zero.
    """
    theta, given_anchors = weights(seed), anchors(seed)
    size = torch.linalg.vector_norm(theta, dim=1, keepdim=True)
    near = tuple(2 * theta + 0.1 * size * torch.nn.functional.normalize(one, dim=1) for one in given_anchors.thetas)
    strength = given_anchors.strength + 0.1 * (given_anchors.strength > 0)
    close = Anchors.stacked(near, [], strength.unbind(1))
    objective = CosineAnchored(close, influence, "flattened").narrow(slice(0, len(theta)))
    assert objective.joint is not None
    assert objective.joint.pull(theta, 1.0) is not None
    assert_pull_is_the_gradient(objective, theta)


@given(seed=seeds)
@quick
def test_an_anchor_behind_the_origin_is_not_joined(seed: int) -> None:
    theta = weights(seed)
    split = Anchors.stacked((theta, -theta), [], [torch.ones(len(theta), dtype=theta.dtype)] * 2)
    objective = CosineAnchored(split, 0.0, "flattened").narrow(slice(0, len(theta)))
    assert objective.joint is not None
    assert objective.joint.pull(theta, 1.0) is None
    assert_pull_is_the_gradient(objective, theta)


@given(seed=seeds, influence=st.floats(0.1, 1))
@quick
def test_the_flattened_penalty_is_eq_7_and_has_its_gradient(seed: int, influence: float) -> None:
    (logits, step), given_anchors = batch(seed), anchors(seed)
    leaf = logits.clone().requires_grad_()
    present = (step.weight > 0).to(leaf.dtype)
    alike = output_similarity(leaf, given_anchors.on(step).movedim(3, 0), present, "flattened")
    expected = LocalLoss().loss(leaf, step) + influence * (given_anchors.strength * (1 - alike.T)).sum(1)
    loss = CosineAnchored(given_anchors, influence, "flattened").loss(leaf, step)
    torch.testing.assert_close(loss, expected)
    for ours, theirs in zip(*(torch.autograd.grad(value.sum(), leaf) for value in (loss, expected)), strict=True):
        torch.testing.assert_close(ours, theirs)

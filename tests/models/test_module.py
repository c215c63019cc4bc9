"""Any module of torch's as a model: its stack against itself one by one, the order of weights, what stands still."""

import threading

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Build, Description, flat, loaded
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer
from tests.models.conftest import SEQUENCE, TABLE, Adapted, Recurrent, Residual


def model_of(build, about: Description = TABLE, head: str | None = None, seed: int = 0) -> ModuleModel:
    return ModuleModel.from_build(build, about, np.random.default_rng(seed), head)


def stack(model: ModuleModel, sites: int = 3) -> Tensor:
    random = torch.Generator().manual_seed(1)
    start = model.initial(np.random.default_rng(0))
    return start + 0.1 * torch.randn((sites, len(start)), generator=random)


def rows(about: Description, *leading: int) -> Tensor:
    return torch.randn((*leading, *about.shape), generator=torch.Generator().manual_seed(2))


MODULES = [(Residual, TABLE), (Recurrent, SEQUENCE), (Adapted, TABLE)]


@pytest.mark.parametrize(("build", "about"), MODULES)
def test_a_stack_answers_and_learns_like_its_modules_one_by_one(build, about) -> None:
    model = model_of(build, about, head="fc")
    theta, x = stack(model), rows(about, 3, 4)
    weights = [view.clone().requires_grad_() for view in model.views(theta)]
    answers = model.apply(weights, x)
    gradients = torch.autograd.grad(answers.square().sum(), weights)
    together = torch.cat([gradient.flatten(1) for gradient in gradients], 1)
    for g in range(3):
        module = loaded(model, theta[g])
        alone = model.call(module, x[g])
        torch.testing.assert_close(answers[g], alone, atol=1e-5, rtol=1e-4)
        own = torch.autograd.grad(alone.square().sum(), model.weights_of(module))
        torch.testing.assert_close(together[g], torch.cat([one.flatten() for one in own]), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("build", "about"), MODULES)
def test_head_after_body_is_the_model(build, about) -> None:
    model = model_of(build, about, head="fc")
    theta, x, at = stack(model), rows(about, 3, 7), model.head_start
    features = model.body.outputs(theta[:, :at], x)
    assert features.shape[2] == model.body.classes
    torch.testing.assert_close(model.head.outputs(theta[:, at:], features), model.outputs(theta, x))
    assert model.body.parameters + model.head.parameters == model.parameters


def test_the_heads_weights_stand_behind_the_bodys() -> None:
    model = model_of(Residual, head="fc")
    assert model.names[-2:] == ("fc.weight", "fc.bias")
    assert model.parameters - model.head_start == 8 * 3 + 3
    assert model_of(Residual).names[0] == "fc.weight"  # as the module has them, where nobody splits it
    assert model_of(Residual).head_start == model.parameters


def test_only_what_requires_a_gradient_travels() -> None:
    """16 * 2 of the adapter, 2 * 3 + 3 of the head; the frozen body, its norm and its statistics stay."""
    model = model_of(Adapted)
    assert model.parameters == 32 + 9
    before = {name: value.clone() for name, value in model.template.state_dict().items()}
    model.apply(model.views(stack(model)), rows(TABLE, 3, 4))
    after = model.template.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    copy = model.module()
    assert copy.body[0].weight is model.template.body[0].weight
    assert copy.fc.weight is not model.template.fc.weight


def test_weights_go_into_a_module_and_come_back() -> None:
    model = model_of(Residual, head="fc")
    theta = stack(model)[1]
    torch.testing.assert_close(flat(model, loaded(model, theta)), theta, rtol=0, atol=0)


def test_tied_weights_are_one() -> None:
    class Tied(nn.Module):
        def __init__(self, about: Description) -> None:
            super().__init__()
            self.there, self.back = nn.Linear(5, 3, bias=False), nn.Linear(5, 3, bias=False)
            self.back.weight = self.there.weight

        def forward(self, x: Tensor) -> Tensor:
            return self.there(x) + self.back(x)

    model = model_of(Tied)
    assert model.parameters == 15
    theta, x = stack(model, 1), rows(TABLE, 1, 2)
    torch.testing.assert_close(model.outputs(theta, x), 2 * x @ theta.view(1, 3, 5).mT)


def test_lazy_layers_are_made_before_weights_are_counted() -> None:
    model = model_of(lambda about: nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(3)))
    assert model.parameters == 5 * 4 + 4 + 4 * 3 + 3


def test_what_a_module_draws_when_built_comes_from_the_stream_alone() -> None:
    torch.manual_seed(7)
    first, again, other = (model_of(Residual, seed=seed).initial(np.random.default_rng()) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    torch.manual_seed(7)
    untouched = torch.rand(1)
    torch.manual_seed(7)
    model_of(Residual)
    assert torch.equal(torch.rand(1), untouched)


def test_an_operator_without_a_rule_for_stacks_is_named() -> None:
    assert model_of(Residual).unstackable is None
    assert "lstm" in str(model_of(Recurrent, SEQUENCE).unstackable)


class Warm(nn.Linear):
    """One of its weights is a number."""

    def __init__(self, about: Description) -> None:
        super().__init__(about.shape[0], about.outputs)
        self.warmth = nn.Parameter(torch.tensor(2.0))

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) / self.warmth


def test_a_weight_may_be_a_single_number() -> None:
    model = model_of(Warm)
    theta, x = stack(model, 2), rows(TABLE, 2, 4)
    at, weight, labels = (
        torch.zeros(2, 4, dtype=torch.int64),
        torch.full((2, 4), 0.25),
        torch.tensor([[0, 1, 2, 0]] * 2),
    )
    batch = Batch(x, labels, at, weight)
    found = [kind(model).gradient(theta, batch, LocalLoss()) for kind in (BatchedTrainer, SequentialTrainer)]
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kept", [threading.Lock, lambda: torch.ones(1, requires_grad=True) * 2])
def test_a_module_that_cannot_be_copied_is_refused(kept) -> None:
    def build(about: Description) -> nn.Module:
        module = nn.Linear(about.shape[0], about.outputs)
        module.kept = kept()
        return module

    with pytest.raises(BadInput, match="cannot be copied for each site"):
        model_of(build)


class Hooked(nn.Linear):
    """A layer whose way back is turned round, as vmap would not do it."""

    def __init__(self, about: Description) -> None:
        super().__init__(about.shape[0], about.outputs)
        self.register_full_backward_hook(lambda _, given, __: tuple(-one for one in given))


def test_a_stack_with_other_gradients_than_its_modules_is_trained_one_by_one() -> None:
    def build(about: Description) -> nn.Module:
        return nn.Sequential(nn.Linear(about.shape[0], 4), Hooked(Description((4,), about.outputs)))

    model = ModuleModel.from_build(build, TABLE, np.random.default_rng(0))
    assert model.unstackable == "a stack of it has other gradients than its modules"


class Doubly(nn.Linear):
    """It knows its weight by a name that no one else does."""

    def __init__(self, about: Description) -> None:
        super().__init__(about.shape[0], about.outputs)
        self.known = [self.weight]

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) + nn.functional.linear(input, self.known[0])


class Again(nn.Linear):
    """It is run anew on the way back, and by then it has other weights."""

    def __init__(self, about: Description) -> None:
        super().__init__(about.shape[0], about.outputs)

    def forward(self, input: Tensor) -> Tensor:
        answer: Tensor = checkpoint(lambda x: torch.tanh(super(Again, self).forward(x)), input, use_reentrant=False)
        return answer


@pytest.mark.parametrize("build", [Doubly, Again])
def test_a_module_that_does_not_learn_by_weights_it_is_given_is_refused(build: Build) -> None:
    with pytest.raises(BadInput, match=r"other gradients when it is given.*leave out checkpoints"):
        ModuleModel.from_build(build, TABLE, np.random.default_rng(0))


def test_dropout_is_of_training_alone_and_needs_a_key() -> None:
    model = model_of(lambda about: Residual(about, dropout=0.5))
    theta, x = stack(model, 2), rows(TABLE, 2, 4)
    assert model.draws
    assert torch.equal(model.outputs(theta, x), model.outputs(theta, x))
    keys = torch.tensor([1, 2])
    dropped = model.apply(model.views(theta), x, keys)
    assert torch.equal(dropped, model.apply(model.views(theta), x, keys))
    assert not torch.allclose(dropped, model.apply(model.views(theta), x, keys + 1))
    for g in range(2):
        torch.testing.assert_close(model.call(loaded(model, theta[g]), x[g], keys[g]), dropped[g])
    with pytest.raises(ValueError, match="keys"):
        model.apply(model.views(theta), x)
    with pytest.raises(ValueError, match="keys"):
        model.call(model.module(), x[0])


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("fd", "no part 'fd' with parameters to train.*fc, first, second"),
        ("first", "'first' is not what it ends with"),
        ("norm", "'norm' has no linear layer|not what it ends with"),
    ],
)
def test_a_head_that_is_none_is_refused(head: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        model_of(Residual, head=head)


def test_a_model_of_nothing_but_a_head_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing but its head"):
        model_of(lambda about: nn.Sequential(nn.Linear(5, 3)), head="0")


def test_a_model_without_a_named_head_is_not_split() -> None:
    with pytest.raises(BadInput, match="--head fc"):
        _ = model_of(Residual).body
    with pytest.raises(BadInput, match="--head fc"):
        _ = model_of(Residual).head


def test_a_state_replaces_weights_and_what_stands_still() -> None:
    state = {"body.0.weight": torch.full((16, 5), 3.0), "fc.bias": torch.ones(3)}
    model = ModuleModel.from_build(Adapted, TABLE, np.random.default_rng(0), None, state)
    assert (model.template.body[0].weight == 3).all()
    assert model.initial(np.random.default_rng())[-3:].tolist() == [1, 1, 1]


def test_outputs_do_not_depend_on_the_size_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(Residual)
    theta, x = stack(model), rows(TABLE, 3, 7)
    whole = model.outputs(theta, x)
    monkeypatch.setattr("secure_sapefl.models.module._CHUNK_VALUES", 1)
    torch.testing.assert_close(model.outputs(theta, x), whole)
    assert not whole.requires_grad

"""The two ways to run the same steps.

`SequentialTrainer` is the reference: one site after another, an ordinary `nn.Module`, `torch.optim.SGD`, autograd for
everything. `BatchedTrainer` trains a whole group at once on stacked weights, with one autograd graph and the data-free
gradient in closed form. A test holds them to the same models.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from secure_sapefl.models.base import Model
from secure_sapefl.training.descent import descend
from secure_sapefl.training.objective import Batch, Objective
from secure_sapefl.training.plan import Plan, Shard

STACK_BYTES: Final = 8 << 20


class Trainer(Protocol):
    @property
    def model(self) -> Model: ...

    def train(self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float) -> Tensor:
        """SGD along ``plan`` from ``theta`` [G, P]; returns new weights, leaves ``theta`` alone."""

    def gradient(self, theta: Tensor, batch: Batch, objective: Objective) -> Tensor:
        """The objective's gradient at ``theta`` [G, P] on one batch a site, [G, P]: for methods with steps of their
        own."""

    def for_model(self, model: Model) -> Self:
        """The same way of training another model, such as the body or the head alone."""


def batches(shard: Shard, plan: Plan) -> Iterator[tuple[int, Batch]]:
    """The plan's steps with their rows gathered: (active sites, batch)."""
    plan = plan.to(shard.x.device)
    first = torch.tensor(shard.starts, device=plan.rows.device).view(1, -1, 1)
    position = plan.rows + first
    for t, active in enumerate(plan.active):
        at = position[t, :active]
        yield active, Batch(shard.x[at], shard.y[at], plan.rows[t, :active], plan.weight[t, :active])


def stacks(sites: int, model: Model, stack_bytes: int | None = STACK_BYTES) -> Iterator[slice]:
    """A group cut into the stacks it is trained in. On a CPU a stack is what stays in cache between the passes of a
    step: many small models, or one large one. On a GPU there is nothing to gain from cutting (None)."""
    size = sites if stack_bytes is None else max(1, stack_bytes // (4 * model.parameters))
    for start in range(0, sites, size):
        yield slice(start, min(start + size, sites))


@dataclass(frozen=True, slots=True)
class BatchedTrainer:
    """Trains a group in stacks, side by side."""

    model: Model
    stack_bytes: int | None = STACK_BYTES

    def for_model(self, model: Model) -> Self:
        return replace(self, model=model)

    def gradient(self, theta: Tensor, batch: Batch, objective: Objective) -> Tensor:
        weights = [view.requires_grad_() for view in self.model.views(theta.detach())]
        loss = objective.loss(self.model.apply(weights, batch.x), batch)
        gradients = torch.autograd.grad(loss.sum(), weights)
        total = torch.cat([gradient.flatten(1) for gradient in gradients], 1)
        pull = objective.weight_pull(theta)
        return total if pull is None else total + pull.dense(theta)

    def train(self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float) -> Tensor:
        theta = theta.clone(memory_format=torch.contiguous_format)
        plan = plan.to(theta.device)
        for part in stacks(len(theta), self.model, self.stack_bytes):
            self._train_stack(theta[part], shard.narrow(part), plan.narrow(part), objective.narrow(part), lr)
        return theta

    def _train_stack(self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float) -> None:
        active, stack, weights, part = -1, theta, [theta], objective
        for now, batch in batches(shard, plan):
            if now != active:
                active, stack, part = now, theta[:now], objective.narrow(slice(0, now))
                weights = [view.requires_grad_() for view in self.model.views(stack)]
            loss = part.loss(self.model.apply(weights, batch.x), batch)
            gradients = torch.autograd.grad(loss.sum(), weights)
            with torch.no_grad():
                descend(stack, weights, gradients, part.weight_pull(stack), lr)


@dataclass(frozen=True, slots=True)
class SequentialTrainer:
    model: Model

    def for_model(self, model: Model) -> Self:
        return replace(self, model=model)

    def train(self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float) -> Tensor:
        plan = plan.to(theta.device)
        return torch.stack([self._train_site(g, theta[g], shard, plan, objective, lr) for g in range(len(shard))])

    def gradient(self, theta: Tensor, batch: Batch, objective: Objective) -> Tensor:
        return torch.stack([self._site_gradient(g, theta[g], batch, objective) for g in range(len(theta))])

    def _train_site(self, g: int, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float) -> Tensor:
        module = self._module(theta)
        optimizer = torch.optim.SGD(module.parameters(), lr=lr)
        x, y = shard.site(g)
        objective = objective.narrow(slice(g, g + 1))
        for t in range(sum(active > g for active in plan.active)):
            kept = plan.weight[t, g] > 0
            rows = plan.rows[t, g][kept]
            optimizer.zero_grad()
            _backward(module, Batch(x[rows][None], y[rows][None], rows[None], plan.weight[t, g][kept][None]), objective)
            optimizer.step()
        return parameters_to_vector(module.parameters()).detach()

    def _site_gradient(self, g: int, theta: Tensor, batch: Batch, objective: Objective) -> Tensor:
        module, kept = self._module(theta), batch.weight[g] > 0
        own = Batch(*(part[g][kept][None] for part in (batch.x, batch.y, batch.rows, batch.weight)))
        _backward(module, own, objective.narrow(slice(g, g + 1)))
        return torch.cat([p.grad.flatten() for p in module.parameters() if p.grad is not None])

    def _module(self, theta: Tensor) -> nn.Module:
        module = self.model.module().to(theta.device)
        vector_to_parameters(theta.clone(), module.parameters())
        return module


def _backward(module: nn.Module, batch: Batch, objective: Objective) -> None:
    """Leave the gradient of one site's whole objective in the module, all of it from autograd."""
    loss = objective.loss(module(batch.x[0])[None], batch)
    penalty = objective.weight_penalty(parameters_to_vector(module.parameters())[None])
    (loss if penalty is None else loss + penalty).sum().backward()

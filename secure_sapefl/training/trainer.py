"""The two ways to run the same steps.

`SequentialTrainer` is the reference: one site after another, an ordinary `nn.Module`, `torch.optim.SGD`, autograd for
everything. `BatchedTrainer` trains a whole group at once on stacked weights, with the gradients of linear layers and
the data-free one in closed form; its steps may be compiled (`compiled.py`). A test holds them to the same models.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from secure_sapefl.models.base import Model, flat, joined, loaded, put
from secure_sapefl.training.gradients import by_autograd
from secure_sapefl.training.objective import Batch, Objective, Pull
from secure_sapefl.training.optimizer import Stepper
from secure_sapefl.training.plan import Plan, Shard
from secure_sapefl.training.stack_step import StackStep, step_

STACK_BYTES: Final = 8 << 20


class Trainer(Protocol):
    @property
    def model(self) -> Model: ...

    def train(
        self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float, stepper: Stepper | None = None
    ) -> Tensor:
        """Steps along ``plan`` from ``theta`` [G, P], plain ones where no ``stepper`` takes them; returns new weights,
        leaves ``theta`` alone."""

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
        keys = shard.step_keys(t, slice(0, active))
        yield active, Batch(shard.x[at], shard.y[at], plan.rows[t, :active], plan.weight[t, :active], keys, shard.task)


def whole_gradient(theta: Tensor, gradients: Sequence[Tensor], pull: Pull | None) -> Tensor:
    """[G, P], from what each of the weights contributes and the part that reads no record."""
    total = joined(gradients)
    return total if pull is None else total + pull.dense(theta)


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
    step: StackStep = step_

    def for_model(self, model: Model) -> Self:
        return replace(self, model=model)

    def gradient(self, theta: Tensor, batch: Batch, objective: Objective) -> Tensor:
        found = by_autograd(self.model, self.model.views(theta.detach()), batch, objective)
        return whole_gradient(theta, found, objective.weight_pull(theta))

    def train(
        self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float, stepper: Stepper | None = None
    ) -> Tensor:
        theta = theta.clone(memory_format=torch.contiguous_format)
        plan = plan.to(theta.device)
        for part in stacks(len(theta), self.model, self.stack_bytes):
            own = None if stepper is None else stepper.narrow(part)
            self._train_stack(theta[part], shard.narrow(part), plan.narrow(part), objective.narrow(part), lr, own)
        return theta

    def _train_stack(
        self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float, stepper: Stepper | None
    ) -> None:
        views = self.model.views(theta)
        # One step reads all of theta where there is a pull; where there is none, weights that lie apart from each other
        # are faster, since a batched product writes only into matrices that follow one another.
        apart = stepper is None and objective.weight_pull(theta) is None
        weights = [view.clone(memory_format=torch.contiguous_format) for view in views] if apart else views
        active, stack, part = -1, theta, objective
        for now, batch in batches(shard, plan):
            if now != active:
                active, stack, part = now, theta[:now], objective.narrow(slice(0, now))
            if stepper is None:
                self.step(self.model, stack, [weight[:now] for weight in weights], batch, part, lr)
            else:
                total = self.gradient(stack, batch, part)
                stepper.narrow(slice(0, now)).step_(stack, total, lr)
        for view, weight in zip(views, weights, strict=True) if apart else ():
            view.copy_(weight)


@dataclass(frozen=True, slots=True)
class SequentialTrainer:
    model: Model

    def for_model(self, model: Model) -> Self:
        return replace(self, model=model)

    def train(
        self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float, stepper: Stepper | None = None
    ) -> Tensor:
        plan = plan.to(theta.device)
        sites = [slice(g, g + 1) for g in range(len(shard))]
        return torch.cat(
            [
                self._train_site(
                    theta[one],
                    shard.narrow(one),
                    plan.narrow(one),
                    objective.narrow(one),
                    lr,
                    None if stepper is None else stepper.narrow(one),
                )
                for one in sites
            ]
        )

    def gradient(self, theta: Tensor, batch: Batch, objective: Objective) -> Tensor:
        return torch.stack([self._site_gradient(g, theta[g], batch, objective) for g in range(len(theta))])

    def _train_site(
        self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float, stepper: Stepper | None
    ) -> Tensor:
        module = loaded(self.model, theta[0])
        optimizer = torch.optim.SGD(self.model.weights_of(module), lr=lr)
        for _, batch in batches(shard, plan):
            optimizer.zero_grad()
            self._backward(module, batch.at_site(0, batch.weight[0] > 0), objective)
            if stepper is None:
                optimizer.step()
            else:
                self._step(module, stepper, lr)
        return flat(self.model, module)[None]

    def _step(self, module: nn.Module, stepper: Stepper, lr: float) -> None:
        theta = flat(self.model, module)[None]
        stepper.step_(theta, self._gradient(module)[None], lr)
        put(self.model, module, theta[0])

    def _site_gradient(self, g: int, theta: Tensor, batch: Batch, objective: Objective) -> Tensor:
        module = loaded(self.model, theta)
        self._backward(module, batch.at_site(g, batch.weight[g] > 0), objective.narrow(slice(g, g + 1)))
        return self._gradient(module)

    def _gradient(self, module: nn.Module) -> Tensor:
        return torch.cat([_gradient(weight) for weight in self.model.weights_of(module)])

    def _backward(self, module: nn.Module, batch: Batch, objective: Objective) -> None:
        """Leave the gradient of one site's whole objective in the module, all of it from autograd."""
        key = None if batch.keys is None else batch.keys[0]
        loss = objective.loss(self.model.call(module, batch.x[0], key)[None], batch)
        theta = parameters_to_vector(self.model.weights_of(module))
        penalty = objective.weight_penalty(theta[None])
        (loss if penalty is None else loss + penalty).sum().backward()


def _gradient(weight: nn.Parameter) -> Tensor:
    """0 where the loss does not depend on it."""
    return (torch.zeros_like(weight) if weight.grad is None else weight.grad).flatten()

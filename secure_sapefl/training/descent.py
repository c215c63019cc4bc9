"""One step of gradient descent on stacked weights, in as few passes over them as there are."""

import torch
from torch import Tensor

from secure_sapefl.training.objective import Pull

Tensors = list[Tensor] | tuple[Tensor, ...]


def descend(theta: Tensor, weights: Tensors, gradients: Tensors, pull: Pull | None, lr: float) -> None:
    """theta <- theta - lr * (gradient + pull), in place; ``weights`` are views of ``theta`` [G, P], one a gradient."""
    if pull is not None and _is_one_model_on_a_cpu(pull.own):
        _descend_one(weights, gradients, lr, decay=pull.own.item())
        pull.draw_(theta, lr)
        return
    if pull is not None:
        pull.step_(theta, lr)
    torch._foreach_add_(weights, gradients, alpha=-lr)  # as torch's own optimisers do; it has no public name


def _is_one_model_on_a_cpu(own: Tensor) -> bool:
    """A large model fills a stack alone, and what its step costs is how often memory is read. On a GPU the host would
    have to wait for the number."""
    return own.numel() == 1 and own.device.type == "cpu"


def _descend_one(weights: Tensors, gradients: Tensors, lr: float, decay: float) -> None:
    """w <- w - lr * (gradient + decay * w): the pull's own part is the weight decay of torch's fused SGD, which reads
    gradients as they lie in memory, whatever their strides say."""
    gradients = [gradient.contiguous() for gradient in gradients]
    torch._fused_sgd_(  # as above
        weights, gradients, [], lr=lr, weight_decay=decay, momentum=0.0, dampening=0.0,
        nesterov=False, maximize=False, is_first_step=False,
    )  # fmt: skip

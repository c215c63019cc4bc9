"""One step of gradient descent on stacked weights, in as few passes over them as there are."""

from collections.abc import Sequence

import torch
from torch import Tensor

from secure_sapefl.models.taps import Gradient, Product
from secure_sapefl.training.objective import Pull


def descend(
    theta: Tensor, weights: Sequence[Tensor], gradients: Sequence[Gradient], pull: Pull | None, lr: float
) -> None:
    """w <- w - lr * (gradient + pull), in place, one of ``weights`` a gradient; they are views of ``theta`` [G, P]
    wherever there is a pull."""
    if pull is None:
        _take(weights, gradients, lr)
    elif _is_one_model_on_a_cpu(pull.own):
        _take(weights, gradients, lr, decay=pull.own.item())
        pull.draw_(theta, lr)
    else:
        pull.step_(theta, lr)
        _take(weights, gradients, lr)


def _is_one_model_on_a_cpu(own: Tensor) -> bool:
    """A large model fills a stack alone, and what its step costs is how often memory is read. On a GPU the host would
    have to wait for the number, and a compiled step cannot depend on it."""
    return own.numel() == 1 and own.device.type == "cpu" and not torch.compiler.is_compiling()


def _take(weights: Sequence[Tensor], gradients: Sequence[Gradient], lr: float, decay: float = 0.0) -> None:
    """w <- w - lr * (gradient + decay * w). A gradient that is a product goes into its weights as it is multiplied."""
    for weight, gradient in zip(weights, gradients, strict=True):
        if isinstance(gradient, Product):
            weight.baddbmm_(gradient.left, gradient.right, beta=1 - lr * decay, alpha=-lr)
    weights = [weight for weight, gradient in zip(weights, gradients, strict=True) if isinstance(gradient, Tensor)]
    written = [gradient for gradient in gradients if isinstance(gradient, Tensor)]
    if decay == 0:
        torch._foreach_add_(weights, written, alpha=-lr)  # as torch's own optimisers do; it has no public name
        return
    torch._fused_sgd_(  # as above; it reads gradients as they lie in memory, whatever their strides say
        weights, [gradient.contiguous() for gradient in written], [], lr=lr, weight_decay=decay, momentum=0.0,
        dampening=0.0, nesterov=False, maximize=False, is_first_step=False,
    )  # fmt: skip

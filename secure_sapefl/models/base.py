"""What a model is to the rest of the system.

A model is a description: its weights live outside it, one flat vector a site, ordered as
`torch.nn.utils.parameters_to_vector` orders them. A group of G sites is a matrix ``theta`` of shape [G, P]. So updates
can be weighed and added, models compared, and a head cut off, whatever the network is.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from torch import Tensor, nn


class Model(Protocol):
    @property
    def classes(self) -> int:
        """Values it answers with for a row; of a body, the features."""

    @property
    def widest(self) -> int:
        """Values one row fills at its widest point; sizes chunks of work."""

    @property
    def parameters(self) -> int:
        """P, the length of a weight vector."""

    @property
    def head_start(self) -> int:
        """Where the last linear layer begins in the flat vector: body before it, head from it on."""

    @property
    def body(self) -> "Model":
        """All but the last linear layer; its outputs are the features, its weights ``theta[:, :head_start]``."""

    @property
    def head(self) -> "Model":
        """The last linear layer, on features; its weights are ``theta[:, head_start:]``."""

    def views(self, theta: Tensor) -> list[Tensor]:
        """The weights of each layer as views into ``theta`` [G, P]: writing to one writes to the other."""

    def apply(self, weights: Sequence[Tensor], x: Tensor) -> Tensor:
        """Logits [G, B, K] of G sites on their own batches ``x`` [G, B, ...]; ``weights`` as `views` gives them."""

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        """f(theta, x) for a stack of models, without gradients, as many rows at a time as memory is meant for."""

    def module(self) -> nn.Module:
        """The ordinary torch module of one site, with weights of its own."""

    def initial(self, rng: np.random.Generator) -> Tensor:
        """The weights everybody starts from, [P]."""

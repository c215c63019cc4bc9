"""Steps of a method's own: what it may ask of one batch.

Most methods leave their steps to a trainer. Some take gradients at points of their choosing (Per-FedAvg, FedAFK). They
ask a `Step`, so that in a private study the answer can be clipped and noised before they see it.
"""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.trainer import Trainer


class Step(Protocol):
    """One batch of every active site. In a private study it answers once."""

    def gradient(self, theta: Tensor) -> Tensor:
        """grad L_c at ``theta`` [A, P], of the plain local loss on the batch."""

    def difference(self, ahead: Tensor, behind: Tensor, apart: float) -> Tensor:
        """grad L_c(ahead) - grad L_c(behind), for points that lie ``apart`` along one direction: what is bounded in a
        private study is the difference divided by that."""


@dataclass(frozen=True, slots=True)
class PlainStep:
    trainer: Trainer
    batch: Batch

    def gradient(self, theta: Tensor) -> Tensor:
        return self.trainer.gradient(theta, self.batch, LocalLoss())

    def difference(self, ahead: Tensor, behind: Tensor, apart: float) -> Tensor:  # noqa: ARG002 - nothing is bounded here
        return self.gradient(ahead) - self.gradient(behind)

"""Four sites small enough to try a method on in a moment, none like another, with five models going round."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution
from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.models.stacked import Linear, Relu, StackedModel
from secure_sapefl.streams import stream
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer

ALL: Final = (0, 1, 2, 3)


class FourSites:
    """The last has a single row; the second and third are equally large. Site g is the owner of model g."""

    model = StackedModel((Linear(4, 6), Relu(), Linear(6, 3)), classes=3, widest=6)
    sizes = (9, 5, 5, 1)
    starts = (0, 9, 14, 19)

    def __init__(self, seed: int = 11) -> None:
        """``seed`` decides about the records and nothing else."""
        random = torch.Generator().manual_seed(seed)
        self.x = torch.randn((sum(self.sizes), 4), generator=random)
        self.y = torch.randint(3, (sum(self.sizes),), generator=random)
        self.theta_initial, self.theta_global, *models = self._near_each_other(7)
        self.models = torch.stack(models)
        self.received = torch.ones((4, 5), dtype=torch.bool)
        self.received[range(4), range(4)] = False
        self.received[1, 3] = False

    def _near_each_other(self, count: int) -> list[Tensor]:
        drawn = [self.model.initial(np.random.default_rng((2, i))) for i in range(count)]
        return [drawn[0] + 0.3 * one for one in drawn]

    def state(self, algorithm: Algorithm) -> dict[str, Tensor]:
        """As at the start, but with personal models that have gone their own ways."""
        state = algorithm.initial_state(self.theta_initial, 4)
        if "theta_personal" in state:
            state["theta_personal"] = self.models[:4].clone()
        return state

    def group(
        self,
        state: Mapping[str, Tensor],
        sites: Sequence[int] = ALL,
        *,
        trainer: type[BatchedTrainer] | type[SequentialTrainer] = BatchedTrainer,
        device: str = "cpu",
    ) -> SiteGroup:
        """Some of the sites, in this order; who received what stays in main memory, as on a GPU."""
        chosen = list(sites)
        starts, sizes = (tuple(values[c] for c in chosen) for values in (self.starts, self.sizes))
        return SiteGroup(
            theta_global=self.theta_global.to(device),
            theta_initial=self.theta_initial.to(device),
            state={name: rows[chosen].to(device) for name, rows in state.items()},
            peers=Peers(self.models.to(device), self.received[chosen]),
            shard=Shard(self.x.to(device), self.y.to(device), starts, sizes),
            trainer=trainer(self.model),
            streams=lambda purpose: [stream(7, purpose, round_index=3, site=c) for c in chosen],
            local_epochs=2,
            batch_size=4,
            lr=0.1,
        )

    def ready(self, algorithm: Algorithm, sites: Sequence[int] = ALL, **how: Any) -> SiteGroup:
        """The group with all that the method's sites hold in common."""
        group = self.group(self.state(algorithm), sites, **how)
        return replace(group, theta_global=algorithm.initial_global(group.theta_global, algorithm.options()))

    def round(self, algorithm: Algorithm, sites: Sequence[int] = ALL, **how: Any) -> Contribution:
        return algorithm.site_round(self.ready(algorithm, sites, **how), algorithm.options())


def leaving(contribution: Contribution) -> dict[str, Tensor]:
    """What of a contribution is sent, by the names that messages have for it."""
    fields = {
        "update": contribution.update,
        "similarity_score": contribution.score,
        "theta_personal": contribution.shared,
    }
    return {name: rows for name, rows in fields.items() if rows is not None}


def tensors(contribution: Contribution) -> dict[str, Tensor]:
    """Everything of a contribution that the protocol keeps or sends."""
    return {f"state.{name}": rows for name, rows in contribution.state.items()} | leaving(contribution)

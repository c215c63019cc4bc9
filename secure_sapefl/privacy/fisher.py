"""How steep a site's records are at a model: the trace of their empirical Fisher information, for weighing sites.

    F_c / n_c = 1/n_c sum_i min(1, |grad l_i|^2 / C^2)

Every term lies in [0, 1]: one record moves the mean by at most 1 / n_c, and it is noised like a single similarity.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.privacy.per_record import record_gradients
from secure_sapefl.privacy.record_gradients import squared_norms
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.plan import Shard

_ROWS_AT_ONCE = 256


def mean_squared_norms(model: Model, theta: Tensor, shard: Shard, rows: Sequence[int], clip: float) -> Tensor:
    """The exact mean of each site by its declared ``rows``, [G]; not to be released."""
    sums = [_of_site(model, theta[g : g + 1], shard.narrow(slice(g, g + 1)), clip) for g in range(len(shard))]
    return torch.stack(sums) / torch.tensor(rows, device=theta.device)


def _of_site(model: Model, theta: Tensor, shard: Shard, clip: float) -> Tensor:
    """A record whose gradient is no number counts as nothing."""
    norms = [squared_norms(record_gradients(model, model.views(theta), b, LocalLoss())) for b in _blocks(shard)]
    return (torch.cat([theta.new_zeros((1, 0)), *norms], 1) / clip**2).clamp(max=1).nan_to_num(nan=0).sum()


def _blocks(shard: Shard) -> Iterator[Batch]:
    x, y = shard.site(0)
    for block, (some, labels) in enumerate(zip(x.split(_ROWS_AT_ONCE), y.split(_ROWS_AT_ONCE), strict=True)):
        rows = torch.arange(len(labels), device=y.device)[None]
        keys = shard.step_keys(block, slice(0, 1))
        yield Batch(some[None], labels[None], rows, torch.ones_like(rows, dtype=x.dtype), keys, shard.task)

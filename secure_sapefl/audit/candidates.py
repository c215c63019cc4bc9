"""Rows an attacker asks about: each site's training rows, which are members, and its test rows, which are not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.metrics import Floats
from secure_sapefl.models.base import Model
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.tasks.base import Task

_MOST = 2000  # rows of a site
_POPULATION = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Site by site, padded to one length; behind them a sample of test rows of all sites, the same for everyone."""

    sites: tuple[SiteId, ...]
    x: Tensor  # [S, n, ...]
    y: Tensor  # [S, n], or [S, n, columns] where labels are no classes
    member: NDArray[np.bool_]  # [S, n]
    asked: NDArray[np.bool_]  # [S, n], false on padding and on the population
    population: NDArray[np.bool_]  # [S, n]
    task: Task

    def for_sites(self, sites: Sequence[SiteId]) -> "Candidates":
        at = [self.sites.index(site) for site in sites]
        rows = {name: getattr(self, name)[at] for name in ("x", "y", "member", "asked", "population")}
        return replace(self, sites=tuple(sites), **rows)

    def log_confidence(self, model: Model, theta: Tensor) -> Floats:
        """log p(y | x) by each site's own row of ``theta`` [S, P], for its own candidates, [S, n]: what the task's loss
        is the negative of, but for constants."""
        return -self.task.losses(model.outputs(theta, self.x), self.y).double().numpy()


def all_rows(client: ClientData) -> Rows:
    """Training rows first, then test rows, neither more than an audit can use."""
    train, test = client.train, client.test
    return Rows(np.concatenate([train.X[:_MOST], test.X[:_MOST]]), np.concatenate([train.y[:_MOST], test.y[:_MOST]]))


def candidates_of(federation: Federation, task: Task, rng: np.random.Generator) -> Candidates:
    rows = [all_rows(client) for client in federation.clients]
    tests = [client.test for client in federation.clients]
    pool_x, pool_y = (np.concatenate([getattr(test, name) for test in tests]) for name in ("X", "y"))
    drawn = rng.choice(len(pool_y), min(_POPULATION, len(pool_y)), replace=False)
    sizes = np.array([len(one) for one in rows])
    longest, members = int(sizes.max()), np.array([min(len(client.train), _MOST) for client in federation.clients])
    place = np.arange(longest + len(drawn))
    x = np.stack([np.concatenate([_padded(one.X, longest), pool_x[drawn]]) for one in rows])
    y = np.stack([np.concatenate([_padded(one.y, longest), pool_y[drawn]]) for one in rows])
    return Candidates(
        sites=tuple(client.name for client in federation.clients),
        x=torch.from_numpy(x),
        y=torch.from_numpy(y),
        member=place < members[:, None],
        asked=place < sizes[:, None],
        population=np.broadcast_to(place >= longest, (len(rows), len(place))),
        task=task,
    )


def with_rows(client: ClientData, chosen: NDArray[np.bool_]) -> ClientData:
    """The same site, trained on the chosen of all its rows and tested on the others."""
    rows = all_rows(client)
    parts = [Rows(np.ascontiguousarray(rows.X[at]), rows.y[at]) for at in (chosen, ~chosen)]
    return replace(client, train=parts[0], test=parts[1])


def _padded(values: NDArray[np.generic], length: int) -> NDArray[np.generic]:
    return np.concatenate([values, np.repeat(values[-1:], length - len(values), axis=0)])

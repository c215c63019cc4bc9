"""Canaries: made-up records, each put into a site's training or left out by a coin, and what a run says of them.

The auditor is differential privacy's own adversary. It reads every message and knows every record but the coins. A
site's step from one model to the next is, to first order, a sum over its records of their gradients. The auditor
solves for that sum's coefficients, ordinary records and canaries together (ridge regression), and takes a canary's
coefficient for how much of it is in the step. Canaries are random points several deviations wide with random labels:
their gradients are long, and point where no ordinary record's does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from secure_sapefl.audit.file_rows import WIDTH, SiteCanaries, made_up_labels, plant_in_file
from secure_sapefl.audit.gradient_geometry import along, gradients_at, products
from secure_sapefl.audit.parties import AtServer
from secure_sapefl.audit.recording import PublicTerms, RecordedRun, RoundMessages
from secure_sapefl.audit.references import in_the_open
from secure_sapefl.config import Config
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.result import Result
from secure_sapefl.metrics import Array, Floats
from secure_sapefl.models.base import Model
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION

_LARGEST_SHARE: Final = 0.1  # of a site's rows that are canaries
_KNOWN: Final = 512  # ordinary records of a site that the regression takes into account
_RIDGE: Final = 0.1


def plant(
    federation: Federation, canaries: int, rng: np.random.Generator
) -> tuple[Federation, dict[SiteId, SiteCanaries]]:
    """The federation with about half of ``canaries`` among its training rows, and all of them with their coins.

    For runs that promise nothing: rows put into the file would move all others there.
    """
    rows, labels = (np.concatenate([getattr(client.train, part) for client in federation.clients]) for part in "Xy")
    mean, deviation = rows.mean(0), rows.std(0)
    planted, sites = {}, []
    for client in federation.clients:
        count = _at_site(client, federation, canaries)
        x = (mean + WIDTH * deviation * rng.normal(size=(count, *federation.shape))).astype(np.float32)
        y = made_up_labels(federation.labels.kind, labels, federation.classes, count, rng)
        own = SiteCanaries(torch.from_numpy(x), torch.from_numpy(y), rng.random(count) < 0.5)
        planted[client.name] = own
        sites.append(_with(client, x[own.included], y[own.included]))
    return replace(federation, clients=tuple(sites)), planted


def _with(client: ClientData, x: NDArray[np.float32], y: Array) -> ClientData:
    return replace(client, train=Rows(np.concatenate([client.train.X, x]), np.concatenate([client.train.y, y])))


@dataclass(frozen=True, slots=True)
class CanaryRun:
    """How much of each canary the auditor thinks is in what its site sent, against the truth."""

    scores: Floats
    included: NDArray[np.bool_]
    result: Result


def run_with_canaries(config: Config, federation: Federation, canaries: int, seed: int) -> CanaryRun:
    """In a private run canaries are rows of the file, and go through all that the others do."""
    rng = np.random.default_rng([seed, 3])
    if federation.public is None:
        with_canaries, planted = plant(federation, canaries, rng)
    else:
        with_canaries, planted = plant_in_file(config, federation, _fitting(federation, canaries), rng)
    recorded = RecordedRun(in_the_open(config), with_canaries)
    known = {client.name: client.train for client in federation.clients}
    auditor = Auditor(recorded.terms, recorded.key_holder, planted, known)
    result = recorded.run(auditor)
    heard = [site for site in planted if site in auditor.shares]
    return CanaryRun(
        scores=np.concatenate([_standardised(auditor.shares[site]) for site in heard]),
        included=np.concatenate([planted[site].included for site in heard]),
        result=result,
    )


def _fitting(federation: Federation, canaries: int) -> int:
    """No more than may be among the rows of all sites."""
    return sum(_at_site(client, federation, canaries) for client in federation.clients)


def _at_site(client: ClientData, federation: Federation, canaries: int) -> int:
    return min(-(-canaries // len(federation.clients)), max(1, int(_LARGEST_SHARE * len(client.train))))


class Auditor:
    """Hears everything, and adds up over the rounds how much of each canary there is in a site's steps."""

    def __init__(
        self, terms: PublicTerms, codec: SiteCodec, planted: dict[SiteId, SiteCanaries], known: dict[SiteId, Rows]
    ) -> None:
        self._terms, self._start = terms, terms.theta_initial[: terms.model.parameters]
        self._party = AtServer("auditor", terms, codec)
        self._planted, self._known = planted, known
        self.shares: dict[SiteId, Floats] = {}

    def hear(self, messages: RoundMessages) -> None:
        before = dict(self._party.personal)
        self._party.hear(messages)
        for upload in (upload for upload in messages.uploads if upload.site in self._planted):
            for start, end in self._steps(upload.site, before.get(upload.site, self._start)):
                share = self._shares(upload.site, start, end)
                self.shares[upload.site] = self.shares.get(upload.site, 0.0) + share

    def _steps(self, site: SiteId, last_personal: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """From the global model to the local one, from there, or from its last, to the personal one."""
        update, personal = self._party.updates.get(site), self._party.personal.get(site)
        if update is not None:
            yield update.theta_global, update.theta_local
        if personal is not None:
            yield last_personal if update is None else update.theta_local, personal

    def _shares(self, site: SiteId, start: Tensor, end: Tensor) -> Floats:
        planted, known = self._planted[site], self._known[site]
        x = torch.cat([planted.x, torch.from_numpy(known.X[:_KNOWN])])
        y = torch.cat([planted.y, torch.from_numpy(known.y[:_KNOWN])])
        return coefficients(self._terms.undrawn, start, end, x, y, self._terms.task)[: len(planted.y)]


def coefficients(model: Model, start: Tensor, end: Tensor, x: Tensor, y: Tensor, task: Task = CLASSIFICATION) -> Floats:
    """How much of each record's gradient there is in the step from ``start`` to ``end``, [n].

    A record stands for the mean of its gradients' directions at both ends: over a whole training they turn.
    """
    ends = [gradients_at(model, theta, x, y, task) for theta in (start, end)]
    scales = [1 / products(one, one).diagonal().clamp(min=1e-12).sqrt() for one in ends]
    pairs = list(product(zip(ends, scales, strict=True), repeat=2))
    gram = torch.stack([a[:, None] * products(left, right) * b for (left, a), (right, b) in pairs]).sum(0)
    steps = zip(ends, scales, strict=True)
    moved = torch.stack([scale * along(one, model, start - end) for one, scale in steps]).sum(0)
    length = gram.diagonal().clamp(min=1e-12).sqrt()
    system = gram / length[:, None] / length + _RIDGE * torch.eye(len(y))
    return np.asarray(torch.linalg.solve(system.double(), (moved / length).double()))


def _standardised(shares: Floats) -> Floats:
    """Sites differ in size and noise: a canary is compared with the others of its site before those of all."""
    centred = shares - np.median(shares)
    return np.asarray(centred / (np.median(np.abs(centred)) + 1e-12))

"""The half of a site's round that sees records: it needs the model, and neither a key nor the server.

`StudySite` opens and protects messages around it. So the same half can run here, or in a process of its own where a
study brings the code of its model (`carried.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import torch
from torch import Tensor, nn

from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.data.federation import ClientData, Federation
from secure_sapefl.engine.export import StateOnly
from secure_sapefl.engine.sites import Sites
from secure_sapefl.metrics import Array
from secure_sapefl.models.base import loaded
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.study.terms import StudyTerms

if TYPE_CHECKING:
    from secure_sapefl.privacy.study import StudyPrivacy

CPU: Final = torch.device("cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a site starts a round from, in main memory: all opened, nothing sealed."""

    round_index: int
    theta_global: Tensor  # [P], and behind it whatever else a method's sites hold in common
    own: Mapping[str, Tensor]  # what the site keeps between rounds, [1, ...]
    peers: Peers


class Training(Protocol):
    @property
    def site(self) -> SiteId:
        """Whose records these are."""

    @property
    def held(self) -> tuple[str, ...]:
        """What keeps code that the study brought from all else; nothing where there is no such code."""

    @property
    def theta_initial(self) -> Tensor:
        """The weights everybody starts from, [P]."""

    def contribution(self, asked: Asked) -> Contribution:
        """The site's round. In a private study, whatever may leave has its noise."""

    def at_home(self, asked: Asked) -> Contribution:
        """The same round where nothing of it leaves, so that it needs no noise."""

    def personal_model(self, asked: Asked) -> Tensor:
        """The model the site uses, [P]."""

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        """What a model [P] answers to rows [n, ...], [n, K]."""

    def on_test_rows(self, theta: Tensor) -> tuple[Array, Array]:
        """What a model [P] answers to the rows that are held back, and their labels; numbers in the label's units."""

    def module(self, theta: Tensor) -> nn.Module | StateOnly:
        """The module with the weights ``theta`` [P], for use and not for training."""


class OwnProcess:
    """Training of one of our own models, here; rows, models and training on ``device``."""

    held: tuple[str, ...] = ()

    def __init__(
        self, terms: StudyTerms, rows: ClientData, privacy: "StudyPrivacy | None" = None, device: torch.device = CPU
    ) -> None:
        self._blueprint, self._privacy, self.device = terms.blueprint, privacy, device
        self._sites, self.site = own_sites(terms, rows, device), rows.name

    @property
    def theta_initial(self) -> Tensor:
        return self._blueprint.theta_initial

    def contribution(self, asked: Asked) -> Contribution:
        group = self.group(asked)
        return self._round(group if self._privacy is None else self._privacy.protect(group, [0]))

    def at_home(self, asked: Asked) -> Contribution:
        return self._round(self.group(asked))

    def personal_model(self, asked: Asked) -> Tensor:
        models: Tensor = self._blueprint.algorithm.personal_models(self.group(asked), self._blueprint.options)
        return models[0, : self._blueprint.model.parameters].cpu()

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        theta, x = theta.to(self.device), x.to(self.device)
        return self._blueprint.model.outputs(theta[None], x[None])[0].cpu()

    def on_test_rows(self, theta: Tensor) -> tuple[Array, Array]:
        return self._sites.on_test_rows(theta, 0)

    def module(self, theta: Tensor) -> nn.Module:
        return loaded(self._blueprint.model, theta).eval()

    def group(self, asked: Asked) -> SiteGroup:
        """A group of one. What the site keeps is copied: a round that comes to nothing moves nothing."""
        self._sites.state = {name: tensor.clone() for name, tensor in asked.own.items()}
        peers = Peers(asked.peers.models.to(self.device), asked.peers.received.to(self.device))
        theta = asked.theta_global.to(self.device)
        return self._sites.group([0], theta, asked.round_index, peers, Stopwatch())

    def _round(self, group: SiteGroup) -> Contribution:
        return self._blueprint.algorithm.site_round(group, self._blueprint.options)


def own_sites(terms: StudyTerms, rows: ClientData, device: torch.device = CPU) -> Sites:
    """A group of one, with the random streams of its place on the roster; its rows live on ``device``."""
    federation = Federation(
        dataset=terms.file.name,
        shape=terms.file.data.shape,
        class_names=terms.file.data.label_names,
        clients=(rows,),
        source="the site's own records",
        partition="natural",
        labels=terms.file.data.label_is,
    )
    return Sites(terms.blueprint, federation, device, numbers=(terms.file.index(rows.name),))

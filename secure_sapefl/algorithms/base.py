"""What a method is.

The round loop is written once (`protocol/`, run by `engine/`). A method supplies three functions of tensors: the state
a site starts with, the site's half of a round, and the model a site uses. It never sees a key or a message, and it
handles any number of sites side by side (`group.py`): row g of every tensor belongs to site g of the group.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import (
    NO_PRIVATE_FORM,
    NO_SHARED_FORM,
    NotPrivate,
    NotShared,
    Releases,
)
from secure_sapefl.config import Settings
from secure_sapefl.models.base import Model


class Homomorphic(Enum):
    """What the server must be able to do with what sites send."""

    SILENT = "sends nothing"
    RELAY = "relays sealed models"
    WEIGHTED_SUM = "weighs and adds ciphertexts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What a group's half of a round produced. ``update`` and ``score`` leave the site (protected); ``shared`` too, if
    the method relays models to peers; ``state`` stays; ``statistics`` are for the run's own log."""

    state: Mapping[str, Tensor]
    update: Tensor | None = None  # Delta_c, [G, P] or, of the first weights only, less
    score: Tensor | None = None  # s_c, [G]
    shared: Tensor | None = None  # theta_personal, [G, P]
    statistics: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFacts:
    """Public facts that bound a score."""

    cohort: int  # sites invited to a round
    largest_site: int  # declared number of training rows
    peers_per_client: int | None

    @property
    def most_peers(self) -> int:
        others = self.cohort - 1
        return others if self.peers_per_client is None else min(others, self.peers_per_client)


def whole_model(model: Model, _: Settings) -> int:
    return model.parameters


def body_only(model: Model, _: Settings) -> int:
    """Heads stay at the sites."""
    return model.head_start


def add_mean(theta_global: Tensor, mean: Tensor, _: Settings) -> Tensor:
    """theta_G <- theta_G + the weighted mean update (Eq. 12), of as many weights as were summed."""
    return theta_global + F.pad(mean, (0, len(theta_global) - len(mean)))


class NoOptions(Settings):
    """A method without options of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """A method. Beside the site's half, what all sites do alike with the mean update, which they alone can read."""

    name: str
    title: str
    source: str
    homomorphic: Homomorphic
    initial_state: Callable[[Tensor, int], dict[str, Tensor]]
    site_round: Callable[[SiteGroup, Any], Contribution]
    personal_models: Callable[[SiteGroup, Any], Tensor]
    score_bound: Callable[[StudyFacts], float]
    update_length: Callable[[Model, Any], int] = whole_model
    initial_global: Callable[[Tensor, Any], Tensor] = lambda theta_initial, _: theta_initial
    global_step: Callable[[Tensor, Tensor, Any], Tensor] = add_mean
    smoothing: Callable[[Any], float] = lambda _: 0.0  # what e keeps of its past a round, where a method uses e
    relays_models: bool = False
    shows_updates: bool = False  # whoever is given a site's model can compute its update from it
    takes_own_steps: bool = False  # moves models by gradients itself, so that no optimizer can be chosen
    splits_models: bool = False  # treats body and head apart, so that a model must say where its head begins
    classes_for: str | None = None  # what it needs class labels for; None where any task will do
    peers_from: Literal["cohort", "everyone"] = "cohort"
    options: type[Settings] = NoOptions
    releases: Callable[[Any, int], Releases] | NotPrivate = NO_PRIVATE_FORM
    from_common: Callable[[SiteGroup, Any], Tensor] | NotShared = NO_SHARED_FORM
    """Under shared noise (privacy/shared), the model a site makes of the common one at home, without peers, [G, P]."""


def no_state(theta_initial: Tensor, sites: int) -> dict[str, Tensor]:  # noqa: ARG001 - one signature for all methods
    return {}


def personal_state(theta_initial: Tensor, sites: int) -> dict[str, Tensor]:
    """Every site starts from the common model: theta_c^0 = theta_G^0."""
    return {"theta_personal": theta_initial.repeat(sites, 1)}

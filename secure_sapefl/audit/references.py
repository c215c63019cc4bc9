"""Reference worlds: the same study run again on other halves of the same rows.

An attacker who wants to know whether a record was in a training compares the model with models of which it knows. Here
it is given more than any party would have: for every site, all rows in question, and whole runs of the study in which
it chose who was in. Worlds come in pairs, the second with what the first left out, so that every record is in exactly
half of them. Each has a seed of its own: nobody can redraw another site's batches or noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.audit.candidates import all_rows, with_rows
from secure_sapefl.audit.parties import AtServer, Party
from secure_sapefl.audit.recording import RecordedRun, judged_at_the_end
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.protocol.messages import SiteId

Kind = str
GLOBAL, PERSONAL, UPDATE = "global model", "personal models", "updates"


@dataclass(frozen=True, slots=True)
class Models:
    """Models of one kind, by the site whose rows they may remember."""

    kind: Kind
    by_site: dict[SiteId, Tensor]

    def stack(self, sites: tuple[SiteId, ...]) -> Tensor:
        return torch.stack([self.by_site[site] for site in sites])


def models_seen(party: Party, sites: tuple[SiteId, ...]) -> tuple[Models, ...]:
    """All models a party could make out at the end of a run; the global one may remember any site's rows."""
    others = tuple(site for site in sites if site != party.site)
    theta = party.theta_global
    found = (
        Models(GLOBAL, {} if theta is None else dict.fromkeys(others, theta)),
        Models(PERSONAL, party.personal),
        Models(UPDATE, {site: update.theta_local for site, update in party.updates.items()}),
    )
    return tuple(models for models in found if models.by_site)


@dataclass(frozen=True, slots=True)
class World:
    """What an all-seeing party saw of one reference run."""

    models: dict[Kind, Models]


def reference_worlds(config: Config, federation: Federation, pairs: int, seed: int) -> Iterator[World]:
    """``2 * pairs`` worlds, one after another."""
    rng = np.random.default_rng([seed, 1])
    for pair in range(pairs):
        halves = [rng.permutation(len(all_rows(client))) % 2 == 0 for client in federation.clients]
        for side in (0, 1):
            clients = tuple(
                with_rows(client, half ^ bool(side)) for client, half in zip(federation.clients, halves, strict=True)
            )
            own = config.model_copy(update={"seed": _seed(seed, 2 * pair + side)})
            yield World(_seen(own, replace(federation, clients=clients)))


def _seen(config: Config, federation: Federation) -> dict[Kind, Models]:
    recorded = RecordedRun(in_the_open(config), federation)
    everything = AtServer("everything", recorded.terms, recorded.key_holder)
    recorded.run(everything)
    return {models.kind: models for models in models_seen(everything, recorded.terms.study.sites)}


def in_the_open(config: Config) -> Config:
    """The same run without encryption, which changes no bit of it, and evaluated only at its end."""
    return judged_at_the_end(config).model_copy(update={"protection": "plaintext", "workers": 0})


def _seed(seed: int, world: int) -> int:
    return int(np.random.SeedSequence([seed, 2, world]).generate_state(1)[0])

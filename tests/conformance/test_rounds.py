"""What any method owes the round loop. A new entry of the registry is covered by being there."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic
from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.sapefl_plus import ALGORITHM as SAPEFL_PLUS
from secure_sapefl.conformance.rounds import ROUNDS
from secure_sapefl.streams import Purpose

Change = Callable[[SiteGroup, Contribution], Contribution]


@pytest.mark.parametrize("check", ROUNDS.values(), ids=ROUNDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_our_methods_owe_nothing(algorithm: Algorithm, check: Any) -> None:
    assert list(check(algorithm)) == []


def fedavg(change: Change, **fields: Any) -> Algorithm:
    """FedAvg with something done to what its round gives."""

    def site_round(group: SiteGroup, options: Any) -> Contribution:
        return change(group, FEDAVG.site_round(group, options))

    return replace(FEDAVG, site_round=site_round, **fields)


def of_update(change: Callable[[Tensor], Tensor]) -> Algorithm:
    def changed(_: SiteGroup, given: Contribution) -> Contribution:
        assert given.update is not None
        return replace(given, update=change(given.update))

    return fedavg(changed)


def overwrites(group: SiteGroup, given: Contribution) -> Contribution:
    group.theta_global.add_(1.0)
    return given


def by_place(group: SiteGroup, given: Contribution) -> Contribution:
    """As if the group were the study: the first of it is treated unlike the others."""
    assert given.update is not None
    return replace(given, update=given.update * torch.arange(1.0, group.size + 1).unsqueeze(1))


def its_own_coins(_: SiteGroup, given: Contribution) -> Contribution:
    assert given.update is not None
    return replace(given, update=given.update + torch.randn(1))


def by_the_engine(group: SiteGroup, given: Contribution) -> Contribution:
    assert given.update is not None
    return replace(given, update=given.update * (2 if type(group.trainer).__name__ == "BatchedTrainer" else 1))


def asks_the_device(group: SiteGroup, given: Contribution) -> Contribution:
    return replace(given, statistics={"mean": torch.tensor(float(group.theta_global.mean()))})


def divides_by_peers(group: SiteGroup, given: Contribution) -> Contribution:
    assert given.update is not None
    return replace(given, update=given.update / group.peers.received.sum(1, keepdim=True))


def grown_when_looked_at(group: SiteGroup, _: Any) -> Tensor:
    return group.state["theta_personal"].mul_(2)


def drawn_when_looked_at(group: SiteGroup, _: Any) -> Tensor:
    return group.train_local() + torch.rand(1)


KEPT = {"initial_state": lambda theta, sites: {"seen": torch.zeros(sites)}}
BROKEN = [
    ("shapes", of_update(lambda update: update[:2]), "update has 2 rows for 4 sites"),
    ("shapes", of_update(lambda update: update * torch.inf), "update is not finite"),
    ("shapes", of_update(lambda update: update.clone().requires_grad_()), "still requires a gradient"),
    ("shapes", of_update(lambda update: update[:, 1:]), r"update has shape \(4, 50\), expected \(4, 51\)"),
    ("shapes", fedavg(lambda _, given: replace(given, score=None)), "an update needs a score"),
    ("state", replace(FEDAVG, **KEPT), r"initial_state has \['seen'\], a round gives \[\]"),
    ("state", fedavg(lambda _, given: replace(given, state={"seen": torch.zeros(4, 1)}), **KEPT), "seen was .* became"),
    (
        "declaration",
        replace(FEDAVG, homomorphic=Homomorphic.RELAY),
        "is RELAY, and a round gives an update",
    ),
    ("declaration", replace(FEDAVG, relays_models=True), "relays_models is True, and a round gives no shared model"),
    ("declaration", replace(SAPEFL_PLUS, shows_updates=False), "update follows from the model it gives to peers"),
    ("scores", replace(FEDAVG, score_bound=lambda _: 2.0), "scores run from 1 to 9, score_bound says 0 to 2"),
    ("engines", fedavg(by_the_engine), "update differs"),
    ("repeatable", fedavg(overwrites), "it changes theta_global in place"),
    ("repeatable", fedavg(its_own_coins), "draw from group.streams alone"),
    ("grouping", fedavg(by_place), "update differs"),
    ("order", fedavg(by_place), "update differs"),
    ("models", replace(FEDAVG, personal_models=lambda group, _: group.theta_global), "personal_models has shape"),
    ("models", replace(FEDAVG, personal_models=lambda group, _: group.train_local() / 0), "is not finite"),
    ("models", replace(SAPEFL_PLUS, personal_models=grown_when_looked_at), "changes theta_personal in place"),
    ("models", replace(FEDAVG, personal_models=drawn_when_looked_at), "gives another model when it is asked again"),
    ("loneliness", fedavg(divides_by_peers), "update is not finite"),
]


@pytest.mark.parametrize(("check", "algorithm", "found"), BROKEN, ids=[f"{name}: {found}" for name, _, found in BROKEN])
def test_every_check_can_fail(check: str, algorithm: Algorithm, found: str) -> None:
    assert re.search(found, " | ".join(ROUNDS[check](algorithm)))


def test_a_value_asked_back_from_the_device_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="meta"):
        list(ROUNDS["device"](fedavg(asks_the_device)))


def test_a_tensor_on_another_device_is_named() -> None:
    algorithm = of_update(lambda update: torch.zeros(update.shape, device="cpu"))
    assert list(ROUNDS["device"](algorithm)) == ["update was made on another device than the group's"]


def test_streams_of_a_groups_own_are_repeatable() -> None:
    """What the sentence recommends does pass."""

    def drawn(group: SiteGroup, given: Contribution) -> Contribution:
        assert given.update is not None
        coins = [float(rng.normal()) for rng in group.streams(Purpose.FINE_TUNING)]
        return replace(given, update=given.update * torch.tensor(coins).unsqueeze(1))

    assert list(ROUNDS["repeatable"](fedavg(drawn))) == []

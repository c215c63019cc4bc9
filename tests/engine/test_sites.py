"""Sites side by side: their rows, what they keep, and what they are tested on."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from secure_sapefl import Config
from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.sites import Sites
from secure_sapefl.metrics import CLASS_METRICS
from secure_sapefl.protocol.site import GroupRound
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.streams import Purpose

SIZES = (2, 5, 3, 5)


@pytest.fixture
def sites(tiny: Callable[..., Config]) -> Sites:
    """Row r of site c is (c, r); labels alternate."""

    def rows(site: int, count: int) -> Rows:
        X = np.array([[site, r] for r in range(count)], np.float32)
        return Rows(X, np.arange(count) % 2)

    federation = Federation(
        dataset="made up",
        shape=(2,),
        class_names=("x", "y"),
        clients=tuple(ClientData(name=n, train=rows(c, SIZES[c]), test=rows(c, 2)) for c, n in enumerate("abcd")),
        source="here",
        partition="natural",
    )
    return assemble(tiny(method="local"), federation).sites


def test_the_largest_come_first_and_equals_in_order(sites: Sites) -> None:
    assert list(sites.groups(range(4), 3)) == [[1, 3, 2], [0]]


def test_a_group_has_the_rows_of_its_sites_and_their_streams_whoever_is_beside_them(sites: Sites) -> None:
    def group(*which: int):
        return sites.group(which, sites.theta_initial, 2, Peers.nobody(len(which), sites.theta_initial), Stopwatch())

    pair, alone = group(1, 2), group(2)
    start = pair.shard.starts[1]
    assert pair.shard.x[start : start + pair.shard.sizes[1]].tolist() == [[2, 0], [2, 1], [2, 2]]
    drawn = [group.streams(Purpose.LOCAL_BATCHES)[-1].integers(2**60) for group in (pair, alone)]
    assert drawn[0] == drawn[1]


def test_only_those_whose_round_went_well_keep_what_came_of_it(sites: Sites) -> None:
    (name,) = sites.state
    before = sites.state[name].clone()
    new = torch.stack([torch.full_like(before[0], 7.0), torch.full_like(before[0], float("nan"))])
    contribution = Contribution(state={name: new})
    sites.keep([1, 2], GroupRound(contribution, np.array([True, False]), (), ()))
    assert (sites.state[name][1] == 7).all()
    np.testing.assert_array_equal(sites.state[name][[0, 2, 3]], before[[0, 2, 3]])


def test_every_site_is_tested_on_its_own_rows_in_its_own_place(sites: Sites) -> None:
    personal, everywhere = sites.evaluate(sites.theta_initial, 0, size=3)
    assert personal == everywhere  # nobody has trained yet
    assert len(personal.accuracy.per_client) == 4
    own, common = sites.evaluate(sites.theta_initial, 0, size=3, judged_by=CLASS_METRICS[:1])
    assert own == personal
    assert common.metrics == {"accuracy": everywhere.accuracy}, "by no more than was asked for"

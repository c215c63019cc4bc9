"""In a private study a record's home follows from its own coin: one more or less moves no other."""

from collections.abc import Callable

import numpy as np
import pytest

from secure_sapefl.data.coins import Coins, marks_of
from secure_sapefl.data.dealing import dealt
from secure_sapefl.data.partition import PartitionRequest, Share
from secure_sapefl.data.table import Table, Units

REQUEST = PartitionRequest(clients=4, kappa=0.3, clusters=2)
PARTITIONS = ["iid", "dirichlet", "clustered"]


def shares(table: Table, partition: str, seed: int = 0) -> tuple[Share, ...]:
    coins = Coins.from_seed(seed, marks_of(table))
    return dealt(partition, table, Units.from_table(table), REQUEST, coins, np.random.default_rng(seed))


def homes(table: Table, partition: str, seed: int = 0) -> dict[float, str]:
    """By a row's value, which is its number in the whole table."""
    return {float(table.X[row, 0]): share.name for share in shares(table, partition, seed) for row in share.rows}


@pytest.mark.parametrize("partition", PARTITIONS)
def test_every_row_has_one_home_and_keeps_it_when_another_goes(
    partition: str, make_table: Callable[..., Table]
) -> None:
    whole = make_table([0, 1, 2] * 40)
    before = homes(whole, partition)
    assert sorted(before) == list(range(120))
    less = homes(whole.part(np.arange(120) != 7), partition)
    assert less == {row: home for row, home in before.items() if row != 7}


@pytest.mark.parametrize("partition", PARTITIONS)
def test_the_seed_decides(partition: str, make_table: Callable[..., Table]) -> None:
    table = make_table([0, 1, 2] * 40)
    assert homes(table, partition, seed=1) != homes(table, partition, seed=2)


def test_iid_is_even_and_a_small_kappa_is_not(make_table: Callable[..., Table]) -> None:
    table = make_table([0, 1] * 400)
    sizes = {partition: [len(share.rows) for share in shares(table, partition)] for partition in PARTITIONS}
    assert sizes["iid"] == pytest.approx([200] * 4, abs=50)
    assert np.std(sizes["dirichlet"]) > 2 * np.std(sizes["iid"])
    assert sizes["clustered"] == sizes["dirichlet"]


def test_natural_groups_stay_whole(make_table: Callable[..., Table]) -> None:
    table = make_table([0, 1] * 8, group=np.arange(16) // 4, group_names=tuple("abcd"))
    assert {share.name: share.rows.tolist() for share in shares(table, "natural")} == {
        name: list(range(4 * k, 4 * k + 4)) for k, name in enumerate("abcd")
    }

"""Who gets which rows: by hand, and as properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.data.partition import (
    MINIMUM_ROWS,
    PartitionRequest,
    deal,
    dirichlet,
    iid,
    natural,
    topped_up,
)
from secure_sapefl.data.prepare import as_given
from secure_sapefl.data.split import split_rows
from secure_sapefl.data.table import Table, Units
from secure_sapefl.errors import BadInput


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def request(clients: int | None = None, kappa: float = 0.3) -> PartitionRequest:
    return PartitionRequest(clients=clients, kappa=kappa)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, int]:
    """A table with rows enough for some clients; half of them cut into segments of one label."""
    clients = draw(st.integers(1, 8))
    classes = draw(st.integers(2, 5))
    generator = rng(draw(st.integers(0, 2**16)))
    longest = draw(st.sampled_from([1, 4]))
    sizes = generator.integers(1, longest + 1, size=clients * (MINIMUM_ROWS + 2 * longest) * 2)
    labels = np.concatenate([np.arange(classes), generator.integers(0, classes, size=len(sizes) - classes)])
    segment = np.repeat(np.arange(len(sizes)), sizes) if longest > 1 else None
    y = np.repeat(labels, sizes) if longest > 1 else labels
    names = tuple(map(str, range(classes)))
    X = np.arange(len(y), dtype=np.float32)[:, None]
    return Table(X=X, y=y, class_names=names, source="made up", prepare=as_given, segment=segment), clients


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([dirichlet, iid]), st.sampled_from([0.01, 0.3, 100.0]), st.integers(0, 1000))
def test_every_row_is_in_one_place_and_every_client_has_enough(drawn, partition, kappa, seed):
    table, clients = drawn
    shares = partition(table, request(clients, kappa), rng(seed))
    units = Units.from_table(table)
    places = [split_rows(table, units, share.rows, rng(seed)) for share in shares]
    everywhere = np.concatenate([side for place in places for side in place])
    assert len(shares) == clients
    assert sorted(everywhere.tolist()) == list(range(len(table)))
    assert all(len(share.rows) >= MINIMUM_ROWS for share in shares)
    assert all(len(train) >= 1 and len(test) >= 1 for train, test in places)
    if table.segment is not None:
        sides = [set(table.segment[side].tolist()) for place in places for side in place]
        assert sum(map(len, sides)) == len(set().union(*sides))  # no segment on two sides


@pytest.mark.parametrize("partition", [dirichlet, iid])
def test_the_seed_decides(make_table, partition):
    table = make_table([0, 1, 2] * 100)

    def owners(seed: int) -> list[list[int]]:
        return [share.rows.tolist() for share in partition(table, request(5), rng(seed))]

    assert owners(1) == owners(1)
    assert owners(1) != owners(2)


def test_dealing_by_hand():
    """Ten rows, edges at 0.3 and 0.8: the middles 0.05 … 0.95 fall 3, 5, 2."""
    assert deal(np.ones(10, np.int64), np.array([0.3, 0.8, 1.0])).tolist() == [0] * 3 + [1] * 5 + [2] * 2


def test_dealing_whole_segments_goes_by_their_middle_row():
    """Segments of 4, 4 and 2 rows have their middles at 0.2, 0.6 and 0.9."""
    assert deal(np.array([4, 4, 2]), np.array([0.5, 0.9, 1.0])).tolist() == [0, 1, 1]


def test_edges_that_round_below_one_still_deal_every_row():
    assert deal(np.ones(2, np.int64), np.array([0.2, 0.5])).tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(10))
def test_topping_up_by_hand(seed):
    """Client 1 lacks two rows. Of client 0's segments only that of two leaves it with ten."""
    sizes, home = np.array([6, 6, 2, 8]), np.array([0, 0, 0, 1])
    assert topped_up(home, sizes, clients=2, minimum=10, rng=rng(seed)).tolist() == [0, 0, 1, 1]


def one_by_one(home, size, clients, minimum, draws):
    """What `topped_up` says, with everything counted again for every unit that moves."""
    home = home.copy()
    while True:
        rows, count = np.bincount(home, weights=size, minlength=clients), np.bincount(home, minlength=clients)
        short = (rows < minimum) | (count < 2)
        if not short.any():
            return home.tolist()
        spare = np.flatnonzero((rows[home] - size >= minimum) & (count[home] > 2))
        if len(spare) == 0:
            return "refused"
        richest = home[spare[np.argmax(rows[home[spare]])]]
        home[draws.choice(spare[home[spare] == richest])] = np.argmax(short)


@pytest.mark.parametrize("seed", range(40))
def test_topping_up_moves_what_counting_again_would_move(seed):
    draws = rng(seed)
    clients, minimum = int(draws.integers(1, 12)), int(draws.integers(1, 12))
    size = draws.integers(1, 6, 80)
    home = draws.choice(clients, 80, p=draws.dirichlet([0.3] * clients))
    try:
        found = topped_up(home, size, clients, minimum, rng(seed)).tolist()
    except BadInput:
        found = "refused"
    assert found == one_by_one(home, size, clients, minimum, rng(seed))


def test_small_kappa_is_more_skewed_than_large(make_table):
    table = make_table(list(range(10)) * 300)

    def largest_share(kappa: float) -> float:
        shares = dirichlet(table, request(10, kappa), rng())
        return float(np.mean([np.bincount(table.y[share.rows]).max() / len(share.rows) for share in shares]))

    assert largest_share(0.05) > 0.5 > largest_share(0.5) > largest_share(1000.0) > 0.1


def test_iid_sizes_differ_by_one_at_most(make_table):
    sizes = [len(share.rows) for share in iid(make_table([0, 1] * 101), request(20), rng())]
    assert max(sizes) - min(sizes) <= 1


def test_made_up_clients_default_to_twenty(make_table):
    assert len(iid(make_table([0, 1] * 200), request(), rng())) == 20


def test_more_clients_than_rows_is_refused_with_the_most_that_fit(make_table):
    with pytest.raises(BadInput, match=r"5 sites .* need 50, the data has 40. Ask for at most 4 sites"):
        dirichlet(make_table([0, 1] * 20), request(5), rng())


def test_segments_too_few_for_the_clients_are_refused(make_table):
    table = make_table([0] * 60 + [1] * 60, segment=np.repeat(np.arange(4), 30))
    with pytest.raises(BadInput, match="segments cannot be divided among 3 sites"):
        iid(table, request(3), rng())


@pytest.mark.parametrize("partition", [dirichlet, iid])
def test_a_given_split_leaves_every_client_both_sides(make_table, partition):
    table = make_table([0, 1] * 100, split=np.array(([0] * 4 + [1]) * 40))
    for share in partition(table, request(10, 0.05), rng()):
        sides = table.split[share.rows]
        assert (sides == 0).sum() >= 8
        assert (sides == 1).sum() >= 2


def test_a_given_split_with_too_few_test_rows_is_refused(make_table):
    with pytest.raises(BadInput, match=r"at least 2 test rows each need 10, the data has 5"):
        iid(make_table([0, 1] * 50, split=np.array([1] * 5 + [0] * 95)), request(5), rng())


def test_natural_groups_are_clients_under_their_names(make_table):
    table = make_table([0, 1] * 4, group=np.array([1, 1, 1, 0, 0, 0, 0, 1]), group_names=("north", "south"))
    shares = natural(table, request(), rng())
    assert [(share.name, share.rows.tolist()) for share in shares] == [("north", [3, 4, 5, 6]), ("south", [0, 1, 2, 7])]


def test_fewer_clients_than_groups_is_a_seeded_choice_of_groups(make_table):
    table = make_table([0, 1] * 30, group=np.repeat(np.arange(6), 10), group_names=tuple("abcdef"))
    chosen = {tuple(share.name for share in natural(table, request(2), rng(seed))) for seed in range(20)}
    assert len(chosen) > 3
    assert all(first < second for first, second in chosen)


def test_more_clients_than_groups_is_refused(make_table):
    table = make_table([0, 1] * 2, group=np.array([0, 0, 1, 1]), group_names=("a", "b"))
    with pytest.raises(BadInput, match="3 sites asked for, the data has 2 groups"):
        natural(table, request(3), rng())


def test_natural_without_groups_is_refused(make_table):
    with pytest.raises(BadInput, match="no groups"):
        natural(make_table([0, 1]), request(), rng())


def test_a_group_of_one_row_is_named(make_table):
    table = make_table([0, 1, 0], group=np.array([0, 0, 1]), group_names=("large", "tiny"))
    with pytest.raises(BadInput, match="'tiny' cannot be divided"):
        natural(table, request(), rng())


def test_a_group_without_test_rows_is_named(make_table):
    table = make_table([0, 1] * 2, group=np.array([0, 0, 1, 1]), group_names=("a", "b"), split=np.array([0, 1, 0, 0]))
    with pytest.raises(BadInput, match="'b' has no test rows"):
        natural(table, request(), rng())

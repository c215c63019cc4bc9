"""A table before it is divided."""

import numpy as np

from secure_sapefl.data.table import Table, Units


def test_a_part_keeps_segments_whole():
    prepare = lambda train, test: (train, test)  # noqa: E731
    segment = np.repeat(np.arange(40), 5)
    table = Table(
        X=np.arange(200.0)[:, None],
        y=segment % 2,
        class_names=("a", "b"),
        source="here",
        prepare=prepare,
        segment=segment,
    )
    part = table.sample(102, np.random.default_rng(0))
    assert len(part) == 100
    assert set(np.bincount(part.segment)) == {0, 5}


def test_units_are_segments_or_single_rows(make_table):
    rows = Units.from_table(make_table([0, 1, 1], split=np.array([0, 1, 0])))
    assert (rows.of_row.tolist(), rows.size.tolist(), rows.part.tolist()) == ([0, 1, 2], [1, 1, 1], [0, 1, 0])
    segments = Units.from_table(make_table([1, 1, 0, 0, 0], segment=np.array([7, 7, 3, 3, 3])))
    assert segments.of_row.tolist() == [1, 1, 0, 0, 0]
    assert (segments.size.tolist(), segments.label.tolist(), segments.part.tolist()) == ([3, 2], [0, 1], [0, 0])


def test_a_sample_keeps_rows_labels_groups_and_split_together(make_table):
    table = make_table([0, 1] * 20, group=np.arange(40) // 10, split=np.arange(40) % 2)
    part = table.sample(15, np.random.default_rng(0))
    row = part.X[:, 0].astype(int)
    assert len(part) == 15
    assert row.tolist() == sorted(row.tolist())
    assert (part.y.tolist(), part.group.tolist()) == ((row % 2).tolist(), (row // 10).tolist())
    assert part.split.tolist() == (row % 2).tolist()
    assert part.source == "made up, a random 15 of them"
    assert table.sample(40, np.random.default_rng(0)) is table

"""Bring your own: what is accepted, and what each mistake is told."""

from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.config import PublicFacts
from secure_sapefl.data import build_federation
from secure_sapefl.data.own import Reading, own_table
from secure_sapefl.errors import BadInput, UnknownName

N = 40
GOOD = {"X": np.arange(2.0 * N).reshape(N, 2), "y": np.arange(N) % 2}


def save(path, **arrays):
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def load(path, **arrays):
    return own_table(save(path / "mine.npz", **{**GOOD, **arrays}), Reading())


def test_a_plain_table_works_everywhere_a_name_does(tmp_path):
    path = save(tmp_path / "mine.npz", **GOOD)
    federation = build_federation(str(path), clients=4, partition=None, kappa=1.0, seed=0)
    assert (federation.partition, federation.shape, federation.classes) == ("dirichlet", (2,), 2)
    assert federation.source == "mine.npz, 40 rows"


def test_groups_are_clients_and_a_split_is_kept(tmp_path):
    group, split = np.repeat(["b", "a"], N // 2), np.arange(N) % 5 == 0
    path = save(tmp_path / "mine.npz", **GOOD, group=group, split=split.astype(np.uint8))
    federation = build_federation(
        str(path), clients=None, partition=None, kappa=1.0, seed=0, options={"standardise": "none"}
    )
    assert [client.name for client in federation.clients] == ["a", "b"]
    assert federation.clients[1].test.X.tolist() == GOOD["X"][: N // 2][split[: N // 2]].tolist()


def test_string_labels_become_classes(tmp_path):
    table = load(tmp_path, y=np.array(["well", "ill"] * (N // 2)))
    assert table.class_names == ("ill", "well")
    assert table.y[:2].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("X", "shape"),
    [
        (np.zeros((N, 8, 9), np.uint8), (1, 8, 9)),
        (np.zeros((N, 8, 9, 3), np.uint8), (3, 8, 9)),
        (np.zeros((N, 8, 9, 3)), (3, 8, 9)),
        (np.zeros((N, 8, 9)), (1, 8, 9)),
        (np.zeros((N, 5), np.int16), (5,)),
    ],
)
def test_shapes_that_models_get(tmp_path, X, shape):
    path = save(tmp_path / "mine.npz", X=X, y=GOOD["y"])
    assert build_federation(str(path), clients=2, partition="iid", kappa=1.0, seed=0).shape == shape


with_nan = GOOD["X"].copy()
with_nan[17, 1] = np.nan
too_large = GOOD["X"].copy()
too_large[0, 0] = 1e39


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": None}, "'X' is missing"),
        ({"y": None}, "'y' is missing"),
        ({"X": with_nan}, "'X' has 1 values that are NaN.* row 17, column 1"),
        ({"X": too_large}, "'X' has 1 values .* too large"),
        ({"X": np.zeros(N)}, r"'X' has shape \(40,\)"),
        ({"X": np.zeros((N, 0))}, r"'X' has shape \(40, 0\)"),
        ({"X": np.zeros((N, 4, 4, 7))}, r"'X' has shape .* 1 or 3 channels last"),
        ({"X": np.full((N, 2), "a")}, "'X' holds <U1 values, expected numbers"),
        ({"X": np.full((N, 2), 1j)}, "'X' holds complex128 values"),
        ({"y": np.zeros((N, 1), int)}, r"'y' has shape \(40, 1\), expected one value"),
        ({"y": np.zeros(N - 1, int)}, r"'y' has shape \(39,\)"),
        ({"y": np.linspace(0, 1, N)}, "'y' holds float64 values, expected integer or string labels"),
        ({"y": np.zeros(N, int)}, "'y' has a single class"),
        ({"class_names": np.array(["a", "b", "c"])}, "'y' has no row of class 'c'"),
        ({"class_names": np.array(["a"])}, r"'y' runs from 0 to 1, expected 0..0"),
        ({"group": np.zeros(3, int)}, "'group' has shape"),
        ({"group": np.linspace(0, 1, N)}, "'group' holds float64"),
        ({"split": np.full(N, 2)}, r"'split' runs from 2 to 2, expected 0..1"),
        ({"X": np.array([{}] * N, dtype=object)}, "'X' holds Python objects"),
    ],
)
def test_a_mistake_is_named_with_file_and_array(tmp_path, arrays, message):
    with pytest.raises(BadInput, match=rf"^mine\.npz: array {message}"):
        load(tmp_path, **arrays)


def test_files_that_are_not_archives(tmp_path):
    with pytest.raises(BadInput, match="There is no file"):
        own_table(tmp_path / "nowhere.npz", Reading())
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(BadInput, match="not a readable"):
        own_table(tmp_path / "text.npz", Reading())
    np.save(tmp_path / "single.npy", np.zeros(3))
    (tmp_path / "single.npy").rename(tmp_path / "single.npz")
    with pytest.raises(BadInput, match="single array"):
        own_table(tmp_path / "single.npz", Reading())
    with pytest.raises(BadInput, match=r"a \.csv, \.tsv, \.parquet, \.xlsx or \.npz"):
        own_table(tmp_path / "table.docx", Reading())


def test_csv_options_are_not_silently_ignored_for_an_archive(tmp_path):
    with pytest.raises(BadInput, match="--label and --group name columns"):
        own_table(save(tmp_path / "mine.npz", **GOOD), Reading(label="y"))


def test_unknown_options_are_named(tmp_path):
    path = save(tmp_path / "mine.npz", **GOOD)
    with pytest.raises(UnknownName, match="Did you mean 'standardise'"):
        own_table(path, Reading(options={"standardize": "site"}))
    with pytest.raises(UnknownName, match="'pooled'"):
        own_table(path, Reading(options={"standardise": "pooled"}))
    with pytest.raises(BadInput, match="expected str"):
        own_table(path, Reading(options={"standardise": 3}))


MIXED = "age;sex;seen;y\n" + "".join(
    f"{30 + k},5;{'fm'[k % 2]};0{k % 9 + 1}.02.2020;{'no' if k < 20 else 'yes'}\n" for k in range(N)
)


def test_a_table_of_mixed_columns_is_read_by_a_proposed_schema(tmp_path):
    (tmp_path / "mixed.csv").write_text(MIXED)
    table = own_table(tmp_path / "mixed.csv", Reading(label="y"))
    assert table.X[0].tolist() == [30.5, 0.0, 7336.0]
    rows, _ = table.prepare(table.X, table.X)
    assert rows.shape == (N, 4)
    assert table.common is not None
    assert len(table.common.counted(table.X)) == table.common.entries


def test_a_schema_says_what_columns_are_and_how_they_are_scaled(tmp_path):
    (tmp_path / "mixed.csv").write_text(MIXED)
    (tmp_path / "schema.toml").write_text(
        'label = "y"\nclasses = ["no", "yes", "perhaps"]\nignored = ["seen", "sex"]\n'
        'features = [{name = "age", low = 0, high = 120}]\n'
    )
    table = own_table(tmp_path / "mixed.csv", Reading(schema=tmp_path / "schema.toml", preparation="public"))
    assert (table.X.shape, table.class_names) == ((N, 1), ("no", "yes", "perhaps"))
    assert table.prepare(table.X, table.X)[0][0, 0] == pytest.approx((30.5 - 60) / (120 / 12**0.5))
    with pytest.raises(BadInput, match="leave out --label"):
        own_table(tmp_path / "mixed.csv", Reading(schema=tmp_path / "schema.toml", label="age"))


def test_a_schema_scaled_by_site_is_for_natural_sites(tmp_path):
    """Made-up ones agree on a scale, as all do where nobody says anything."""
    (tmp_path / "mixed.csv").write_text(MIXED)
    (tmp_path / "schema.toml").write_text(
        'label = "y"\nclasses = ["no", "yes"]\nscaling = "site"\nsite = "sex"\nignored = ["seen"]\n'
        'features = [{name = "age"}]\n'
    )
    apart = Reading(schema=tmp_path / "schema.toml")
    assert own_table(tmp_path / "mixed.csv", apart).common is None
    assert own_table(tmp_path / "mixed.csv", replace(apart, partition="iid")).common is not None
    assert own_table(tmp_path / "mixed.csv", replace(apart, preparation="common")).common is not None
    assert own_table(tmp_path / "mixed.csv", Reading(label="y", group="sex")).common is not None


def test_a_number_has_a_range_or_a_learned_scale(tmp_path):
    path = save(tmp_path / "mine.npz", X=GOOD["X"] % 7, y=np.linspace(10.0, 20.0, N))
    how = {"clients": 4, "partition": None, "kappa": 1.0, "seed": 0, "labels": "number"}
    learned = build_federation(str(path), **how)
    assert (learned.labels.kind, learned.class_names, learned.partition) == ("number", ("y",), "dirichlet")
    trained = np.concatenate([client.train.y for client in learned.clients])
    assert trained.std() == pytest.approx(1, abs=1e-5)
    assert learned.class_counts().sum() == N
    ranged = build_federation(str(path), **how, options={"target": "0,40"})
    assert ranged.labels.scale is not None
    assert ranged.labels.scale.centre == (20.0,)
    with pytest.raises(BadInput, match="lies outside"):
        build_federation(str(path), **how, options={"target": "0,15"})
    with pytest.raises(BadInput, match="expected LOW,HIGH"):
        build_federation(str(path), **how, options={"target": "15"})
    with pytest.raises(BadInput, match="told the range of its label"):
        build_federation(str(path), **how, private=PublicFacts())


def test_every_column_of_numbers_has_its_range_so_that_a_private_study_may_have_several(tmp_path):
    y = np.column_stack([np.linspace(0.0, 20.0, N), np.arange(N) % 2])
    path = save(tmp_path / "mine.npz", X=GOOD["X"] % 7, y=y)
    how = {"clients": 4, "partition": None, "kappa": 1.0, "seed": 0, "labels": "number", "private": PublicFacts()}
    federation = build_federation(str(path), **how, options={"target": "0,40,0,1"})
    assert federation.labels.scale.centre == (20.0, 0.5)
    as_they_are = build_federation(str(path), **how, options={"target": "0,40,0,1"}, scaled=False)
    assert max(client.train.y[:, 0].max() for client in as_they_are.clients) > 10
    for wrong in ("0,40", "0,40,0", "0,40,1,0", "0,40,0,one"):
        with pytest.raises(BadInput, match="LOW,HIGH,LOW,HIGH"):
            build_federation(str(path), **how, options={"target": wrong})
    with pytest.raises(BadInput, match="lies outside"):
        build_federation(str(path), **how, options={"target": "0,40,0,0.5"})


def test_several_columns_of_y_are_several_labels_and_cannot_be_renamed_by_clusters(tmp_path):
    y = np.stack([np.arange(N) % 2, np.arange(N) % 3 == 0], axis=1).astype(int)
    path = save(tmp_path / "mine.npz", X=GOOD["X"] % 7, y=y)
    how = {"clients": 4, "kappa": 1.0, "seed": 0}
    found = build_federation(str(path), partition="iid", **how)
    assert (found.labels.kind, found.classes, found.clients[0].train.y.shape[1]) == ("yes-no", 2, 2)
    with pytest.raises(BadInput, match="these labels are none"):
        build_federation(str(path), partition="clustered", **how)
    with pytest.raises(BadInput, match="the task reads numbers"):
        build_federation("heart", partition=None, **how | {"clients": None}, labels="number")


def test_rows_of_any_shape_as_they_are(tmp_path):
    X = np.random.default_rng(0).normal(size=(N, 5, 3, 2, 2)).astype(np.float32)
    path = save(tmp_path / "mine.npz", X=X, y=GOOD["y"])
    how = {"clients": 4, "partition": "iid", "kappa": 1.0, "seed": 0}
    assert build_federation(str(path), **how, options={"layout": "as-given"}).shape == (5, 3, 2, 2)
    with pytest.raises(BadInput, match="layout=as-given"):
        build_federation(str(path), **how)

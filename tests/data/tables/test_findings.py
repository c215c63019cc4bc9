"""What ruins studies, found and named; and tables in which nothing is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.data.tables.findings import Examined, Finding, findings, require_accepted
from secure_sapefl.errors import BadInput

N = 200


@pytest.fixture
def sound() -> Examined:
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(60, 10, N), rng.integers(0, 2, N).astype(float), rng.integers(0, 5, N).astype(float)], 1)
    return Examined(
        X=X,
        names=("age", "sex", "visits"),
        levels=((), ("f", "m"), ()),
        y=(rng.random(N) < 0.4).astype(np.int64),
        classes=("no", "yes"),
        label="ill",
        group=np.arange(N) % 2,
        group_names=("north", "south"),
    )


def with_column(table: Examined, name: str, values: np.ndarray) -> Examined:
    return replace(table, X=np.column_stack([table.X, values]), names=(*table.names, name), levels=(*table.levels, ()))


def named(table: Examined) -> dict[str, bool]:
    return {one.name: one.dangerous for one in findings(table)}


def test_nothing_is_found_in_a_sound_table(sound: Examined) -> None:
    assert findings(sound) == ()


@pytest.mark.parametrize(
    ("name", "values"),
    [("row", np.arange(N) + 1000.0), ("case nr", np.arange(N)[::-1] * 7.0), ("Patient_ID", np.arange(N) * 3.0)],
)
def test_case_numbers(sound: Examined, name: str, values: np.ndarray) -> None:
    assert named(with_column(sound, name, values)) == {f"identifier:{name}": True}
    assert named(with_column(sound, "steps", np.arange(N) * 3.0)) == {}


def test_the_label_again_exactly_nearly_or_as_a_number(sound: Examined) -> None:
    assert named(with_column(sound, "code", 1.0 - sound.y)) == {"label:code": True}
    nearly = sound.y.astype(float)
    nearly[3] = 1 - nearly[3]
    assert "nearly equal" in findings(with_column(sound, "code", nearly))[0].says
    score = sound.y + np.random.default_rng(1).uniform(0, 0.5, N)
    assert named(with_column(sound, "score", score)) == {"label:score": True}
    useful = sound.y + np.random.default_rng(1).normal(0, 1, N)
    assert named(with_column(sound, "lab", useful)) == {}


def test_a_measured_quantity_is_no_class(sound: Examined) -> None:
    y = np.arange(N) % 100
    table = replace(sound, y=y, classes=tuple(f"{k / 10}" for k in range(100)))
    assert named(table)["continuous:ill"]
    assert "continuous:ill" not in named(replace(table, classes=tuple(f"kind {k}" for k in range(100))))


def test_spellings_are_dangerous_in_the_label(sound: Examined) -> None:
    assert named(replace(sound, classes=("yes", "YES"))) == {"spelling:ill": True}
    assert named(replace(sound, levels=((), ("f ", "F"), ()))) == {"spelling:sex": False}


def test_constant_and_never_recorded_columns(sound: Examined) -> None:
    table = with_column(with_column(sound, "ward", np.full(N, 3.0)), "lab", np.full(N, np.nan))
    found = {one.name: one.says for one in findings(table)}
    assert "same value" in found["constant:ward"]
    assert found["constant:lab"] == "never recorded"


def test_one_value_of_1e30(sound: Examined) -> None:
    sound.X[17, 0] = 1e30
    (found,) = findings(sound)
    assert (found.name, found.dangerous) == ("outlier:age", True)
    assert "one value" in found.says


def test_copies_within_a_site_and_between_sites(sound: Examined) -> None:
    for copy, original in ((2, 0), (5, 0), (7, 0), (9, 4)):
        sound.X[copy], sound.y[copy] = sound.X[original], sound.y[original]
    found = {one.name: one for one in findings(sound)}
    assert set(found) == {"duplicates:ill", "shared:site"}
    assert not found["shared:site"].dangerous
    assert "2 records stand at several sites" in found["shared:site"].says
    sound.X[11], sound.y[11] = sound.X[6], sound.y[6]
    assert named(sound)["shared:site"]


def test_few_values_make_twins_no_surprise(sound: Examined) -> None:
    assert named(replace(sound, X=sound.X[:, 1:], names=sound.names[1:], levels=sound.levels[1:])) == {}


def test_sites_that_cannot_be_judged(sound: Examined) -> None:
    group = np.where(np.arange(N) < 20, 0, 1)
    assert named(replace(sound, group=group)) == {"few:site": False}
    y = sound.y.copy()
    y[:20] = 1
    assert named(replace(sound, group=group, y=y)) == {"one-class:site": False}


def test_a_run_stops_until_the_finding_is_named() -> None:
    found = [Finding(kind="label", column="code", says="equal to the label", dangerous=True)]
    with pytest.raises(BadInput, match=r"Column 'code': equal to the label\. .* --accept 'label:code'"):
        require_accepted(found, "")
    with pytest.raises(BadInput, match="label:code"):
        require_accepted(found, "label:other")
    both = [*found, replace(found[0], kind="outlier")]
    with pytest.raises(BadInput, match="--accept 'label:other,label:code,outlier:code'"):
        require_accepted(both, "label:other")
    require_accepted(found, "label:other, label:code")
    require_accepted([replace(found[0], dangerous=False)], "")


def test_a_column_in_the_order_of_a_number_is_told() -> None:
    target = np.linspace(0, 1, 60)
    table = Examined(
        X=np.stack([target**3, np.random.default_rng(0).normal(size=60)], axis=1),
        names=("twin", "other"), levels=((), ()), y=np.zeros(60, np.int64), classes=("tenth 1",), label="stay",
        target=target,
    )  # fmt: skip
    found = [one for one in findings(table, table) if one.kind == "label"]
    assert [(one.column, one.dangerous) for one in found] == [("twin", True)]

"""What ruins studies, found and named; and tables in which nothing is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.data.tables.examined import Examined, Finding
from secure_sapefl.data.tables.findings import findings, require_accepted
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
    [
        ("row", np.arange(N) + 1000.0),
        ("case nr", np.arange(N)[::-1] * 7.0),
        ("Patient_ID", np.arange(N) * 3.0),
        ("PatientID", np.arange(N) * 3.0),
        ("Aufnahmenummer", np.arange(N) * 3.0),
        ("patient", np.arange(N) // 2 * 3.0),  # two visits each
    ],
)
def test_case_numbers(sound: Examined, name: str, values: np.ndarray) -> None:
    assert named(with_column(sound, name, values)) == {f"identifier:{name}": True}
    for ordinary, numbers in (("steps", np.arange(N) * 3.0), ("number of visits", np.arange(N) // 2 * 3.0)):
        assert named(with_column(sound, ordinary, numbers)) == {}


def test_a_measured_quantity_is_no_class(sound: Examined) -> None:
    y = np.arange(N) % 100
    table = replace(sound, y=y, classes=tuple(f"{k / 10}" for k in range(100)))
    assert named(table)["continuous:ill"]
    assert "continuous:ill" not in named(replace(table, classes=tuple(f"kind {k}" for k in range(100))))
    ages = replace(sound, y=np.arange(N) % 5, classes=("0.5", "1", "1.5", "2", "2.5"))
    assert named(ages)["continuous:ill"]
    assert "continuous:ill" not in named(replace(ages, classes=("1", "2", "3", "4", "5")))
    rows = np.arange(900)
    many = Examined(
        X=np.random.default_rng(0).normal(size=(900, 1)), names=("lab",), levels=((),), y=rows % 60, label="ill",
        classes=tuple(str(20 + k) for k in range(60)),
    )  # fmt: skip
    assert named(many) == {"continuous:ill": True}
    assert named(replace(many, classes=tuple(str(k) for k in range(60)))) == {}


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


def test_seldom_is_not_far_off(sound: Examined) -> None:
    """Most are 0: a seldom 1, or a seldom dose, is no outlier; one value of 1e30 among them is."""
    for seldom in (1.0, 25_000.0, 1e5):
        values = np.where(np.arange(N) % 29 == 0, seldom, 0.0)
        assert named(with_column(sound, "dialysis", values)) == {}
        values[3] = 1e30
        assert named(with_column(sound, "dialysis", values)) == {"outlier:dialysis": True}
    alone = np.zeros(N)
    alone[3] = 1e30
    assert named(with_column(sound, "dialysis", alone)) == {"outlier:dialysis": True}


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
    comma = [replace(found[0], column="code, ward")]
    with pytest.raises(BadInput, match="--accept 'label:code, ward'"):
        require_accepted(comma, "")
    require_accepted(comma, "label:other,label:code, ward")
    require_accepted([replace(found[0], dangerous=False)], "")

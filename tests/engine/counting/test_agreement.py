"""Sites of a simulation agree on a preparation: encrypted, once, and paid for where the study is private."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.run_folder import config_of
from secure_sapefl.engine.simulator import resume
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import PREPARATION
from secure_sapefl.privacy.ledger_file import read_events

N = 240
SCHEMA = """
label = "ill"
classes = ["no", "yes"]
site = "clinic"
features = [
  {name = "age", low = 0, high = 120, may_be_missing = true},
  {name = "sex", kind = "categorical", levels = ["f", "m", "d"]},
]
"""


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    ages = ["" if rng.random() < 0.1 else str(rng.integers(20, 90)) for _ in range(N)]
    ill = np.where(rng.random(N) < 0.5, "no", "yes")
    lines = [f"{'abcd'[k % 4]},{ages[k]},{'fm'[k % 2]},{ill[k]}\n" for k in range(N)]
    text = "clinic,age,sex,ill\n" + "".join(lines)
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.toml").write_text(SCHEMA)
    return {
        "dataset": str(tmp_path / "t.csv"),
        "data_schema": tmp_path / "t.toml",
        "rounds": 1,
        "local_epochs": 1,
        "method": "fedavg",
        "model": "linear",
        "workers": 0,
    }


@pytest.mark.parametrize("keys", ["shared", "joint"])
def test_encrypted_sums_give_what_rows_in_one_place_do(settings: dict[str, Any], keys: str) -> None:
    plain = federation_of(Config(**settings, protection="plaintext"))
    encrypted = federation_of(Config(**settings, keys=keys))
    assert encrypted.agreed == plain.agreed
    assert encrypted.agreed is not None
    assert (encrypted.agreed.sites, encrypted.agreed.levels) == (4, {"sex": ("f", "m")})
    for one, other in zip(encrypted.clients, plain.clients, strict=True):
        np.testing.assert_array_equal(one.train.X, other.train.X)


def test_late_sites_are_not_asked_and_use_what_was_agreed(settings: dict[str, Any]) -> None:
    late = federation_of(Config(**settings, protection="plaintext", late_clients=1))
    assert late.agreed is not None
    assert late.agreed.sites == 3
    assert late.clients[-1].recipe["numbers"]["mean"] == late.clients[0].recipe["numbers"]["mean"]


def test_a_run_keeps_what_was_agreed_and_sums_once(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(Config(**settings, protection="plaintext"), tmp_path / "run")
    kept = config_of(tmp_path / "run")
    assert kept.agreed is not None

    def never(*_: object) -> None:
        raise AssertionError("summed again")

    monkeypatch.setattr("secure_sapefl.engine.counting.agreement.summed", never)
    assert federation_of(kept).agreed == kept.agreed
    resume(tmp_path / "run")


def private(settings: dict[str, Any], **more: Any) -> Config:
    values = {"dp_epsilon": 8.0, "dp_delta": 1e-3, "batch_size": 8, "protection": "plaintext"}
    return Config(**(settings | values | more))


def test_a_private_study_uses_public_ranges_unless_told_otherwise(settings: dict[str, Any]) -> None:
    made = federation_of(private(settings))
    assert (made.agreed, made.learned) == (None, False)
    assert made.preparation.startswith("one scale for all sites, from public ranges")


def test_a_private_study_pays_for_a_common_preparation_once(settings: dict[str, Any], tmp_path: Path) -> None:
    config = private(settings, preparation="common", dp_ledgers=tmp_path / "ledgers")
    result = simulate(config, tmp_path / "run")
    events = [event for event in read_events(tmp_path / "ledgers" / "a.jsonl") if event.release == PREPARATION]
    assert len(events) == 1
    privacy = result.summary()["privacy"]
    assert 0 < privacy["epsilon_max"] <= 8.0
    assert any("paid for before the first round" in note for note in privacy["notes"])
    kept = config_of(tmp_path / "run").agreed
    assert kept is not None
    assert kept.noised
    exact = federation_of(Config(**settings, protection="plaintext")).agreed
    assert exact is not None
    assert kept.numbers != exact.numbers


def test_what_is_in_memory_is_counted_too(settings: dict[str, Any]) -> None:
    """The same budget buys less training beside a preparation, and the ledger of a run without files shows both."""
    with_it = simulate(private(settings, preparation="common")).summary()["privacy"]
    without = simulate(private(settings)).summary()["privacy"]
    assert with_it["noise_multiplier"] > without["noise_multiplier"]
    assert with_it["epsilon_max"] == pytest.approx(without["epsilon_max"], rel=0.05)


def test_shared_noise_has_public_ranges(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="--preparation public"):
        federation_of(private(settings, preparation="common", dp_noise="shared"))


def test_a_registered_dataset_prepares_itself() -> None:
    with pytest.raises(BadInput, match="is for a table of one's own"):
        federation_of(Config(dataset="heart", preparation="common"))

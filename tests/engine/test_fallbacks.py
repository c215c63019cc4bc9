"""What the algorithm leaves open happens here, is survived, and is seen in the results."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import Simulation, resume, simulate

Tiny = Callable[..., Config]
ROWS = 40
PROTECTIONS = ["plaintext", "ckks"]


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_no_peer_passes_a_threshold_of_one(tiny: Tiny, protection: str) -> None:
    """S > 1 never holds: every site trains without a peer anchor, scores still weigh the global step."""
    result = simulate(tiny(options={"similarity_threshold": 1}, protection=protection))
    for record in result.rounds:
        assert record.similarity["peers_passed"] == 0
        assert record.similarity["sites_without_peer"] == 3  # the whole cohort
        assert record.changed
        assert record.refusals == ()


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_scores_that_sum_to_zero_leave_the_global_model_alone(tiny: Tiny, protection: str) -> None:
    """At first nobody has moved from the initial weights, and the cosine of no displacement with itself is 0."""
    result = simulate(tiny(options={"influence": 0, "weight_similarity": "displacement"}, protection=protection))
    first, second = result.rounds[:2]
    assert (first.similarity["score_min"], first.similarity["score_max"]) == (0, 0)
    assert not first.changed
    assert second.changed
    assert result.skipped_rounds == [0]
    assert result.summary()["skipped_rounds"] == [0]


@pytest.fixture(scope="module")
def odd_sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five sites: two ordinary ones, one with a single training row, one tested on a single class, one whose
    instrument writes numbers of 1e30."""
    rng = np.random.default_rng(0)
    names = ["ordinary", "usual", "one row", "one class", "absurd"]
    group = np.repeat(names, ROWS)
    y = np.tile([0, 1], len(group) // 2)
    X = rng.normal(size=(len(group), 6)) + y[:, None]
    split = np.tile([0, 0, 0, 1], len(group) // 4)
    split[np.isin(np.arange(len(group)) % 4, [2]) & (y == 0)] = 1  # both classes on both sides
    split[group == "one row"] = 1
    split[np.flatnonzero(group == "one row")[0]] = 0
    split[(group == "one class") & (y == 0)] = 0
    X[group == "absurd"] *= 1e30
    path = tmp_path_factory.mktemp("odd") / "odd.npz"
    np.savez(path, X=X, y=y, group=group, split=split)
    return path


def run(odd_sites: Path, out: Path | None = None, **changes: object) -> Result:
    return simulate(_config(odd_sites, **changes), out)


def _config(odd_sites: Path, **changes: object) -> Config:
    settings = {"rounds": 3, "participation": 1.0, "lr": 0.5, "local_epochs": 1, "workers": 0}
    return Config(dataset=str(odd_sites), data_options={"standardise": "none"}, **(settings | changes))


@pytest.mark.parametrize("protection", PROTECTIONS)
@pytest.mark.parametrize("method", ["sapefl", "fedavg"])
def test_a_site_whose_training_gives_nan_is_left_out_and_named(odd_sites: Path, method: str, protection: str) -> None:
    result = run(odd_sites, method=method, protection=protection)
    summary = result.summary()
    assert {(refusal["round"], refusal["site"]) for refusal in summary["refused"]} == {(t, "absurd") for t in range(3)}
    assert all("NaN" in refusal["reason"] for refusal in summary["refused"])
    assert all(record.changed for record in result.rounds)
    sane = [c for c, name in enumerate(summary["client_names"]) if name in ("ordinary", "usual")]
    assert all(summary["accuracy"]["per_client"][c] > 0.5 for c in sane)


def test_a_site_that_diverged_keeps_its_last_model(odd_sites: Path) -> None:
    config = _config(odd_sites, protection="plaintext", method="local")
    simulation = Simulation(assemble(config))
    before = simulation.assembly.sites.state["theta_personal"].clone()
    simulation.run()
    after = simulation.assembly.sites.state["theta_personal"]
    changed = dict(zip(simulation.assembly.sites.names, (before != after).any(1).tolist(), strict=True))
    assert changed == {"ordinary": True, "usual": True, "one row": True, "one class": True, "absurd": False}
    assert after.isfinite().all()


def test_refusals_survive_a_resume(odd_sites: Path, tmp_path: Path, stop_after: Callable[..., None]) -> None:
    expected = run(odd_sites, protection="plaintext").summary()["refused"]
    stop_after(_config(odd_sites, protection="plaintext"), tmp_path / "run", 2)
    assert resume(tmp_path / "run").summary()["refused"] == expected


def test_a_site_with_one_training_row_takes_part(odd_sites: Path) -> None:
    simulation = Simulation(assemble(_config(odd_sites)))
    assert simulation.assembly.sites.sizes[simulation.assembly.sites.names.index("one row")] == 1
    result = simulation.run()
    assert "one row" not in {refusal.site for record in result.rounds for refusal in record.refusals}


def test_a_site_tested_on_one_class_has_no_auc_and_is_not_counted(odd_sites: Path) -> None:
    result = run(odd_sites, protection="plaintext")
    auc = result.summary()["auc"]
    site = result.summary()["client_names"].index("one class")
    assert auc["per_client"][site] is None
    assert result.summary()["accuracy"]["per_client"][site] is not None
    known = [value for value in auc["per_client"] if value is not None]
    assert auc["defined"] == len(known) < 5
    assert auc["mean"] == pytest.approx(np.mean(known))


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_updates_beyond_the_bound_stay_at_their_sites(tiny: Tiny, protection: str) -> None:
    """Finite but too large: refused before encryption, said so, and a round to which nobody contributes is skipped."""
    result = simulate(tiny(lr=4.0, method="fedavg", rounds=1, protection=protection))
    (record,) = result.rounds
    assert len(record.refusals) == 3
    assert all("8" in refusal.reason for refusal in record.refusals)
    assert result.skipped_rounds == [0]

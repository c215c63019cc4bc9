"""The simulator: a contract of names, and numbers that do not depend on how they were computed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine.result import Result
from secure_sapefl.errors import BadInput

Tiny = Callable[..., Config]
Numbers = Callable[[Any], dict[str, Any]]


def test_the_folder_holds_what_was_promised(whole: tuple[Path, Result]) -> None:
    folder, result = whole
    files = {"lock", "config.toml", "identity.json", "rounds.jsonl", "summary.json", "models.safetensors", "checkpoint"}
    assert {path.name for path in folder.iterdir()} == files
    lines = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
    assert [line["round"] for line in lines] == [0, 1, 2, 3]
    assert lines[-1]["accuracy"] == result.summary()["accuracy"]
    for line in lines:
        assert line["bytes"]["up_per_client_round"] > 0
        assert {"peers_passed", "peers_received", "score_min", "score_max"} <= line["similarity"].keys()


def test_its_configuration_gives_the_same_numbers_again(whole: tuple[Path, Result], numbers: Numbers) -> None:
    folder, result = whole
    again = simulate(Config.load(folder / "config.toml"))
    assert numbers(again.summary()) == numbers(result.summary())


def test_the_seed_matters(whole: tuple[Path, Result], tiny: Tiny) -> None:
    other = simulate(tiny(seed=1)).summary()
    assert other["accuracy"]["per_client"] != whole[1].summary()["accuracy"]["per_client"]


@pytest.mark.parametrize("change", [{"engine": "sequential"}, {"group_size": 1}, {"group_size": 3}], ids=str)
def test_results_do_not_depend_on_how_sites_are_computed(
    whole: tuple[Path, Result], tiny: Tiny, change: dict[str, Any]
) -> None:
    """Float sums may round differently, so scores agree to tolerance; what a site answers does not change at all."""
    expected, result = whole[1], simulate(tiny(**change))
    for ours, theirs in zip(result.rounds, expected.rounds, strict=True):
        assert ours.personal.accuracy == theirs.personal.accuracy
        assert ours.everywhere.accuracy == theirs.everywhere.accuracy
        assert ours.traffic == theirs.traffic
        assert ours.similarity == pytest.approx(theirs.similarity, abs=1e-4)


def test_encrypted_and_plaintext_runs_agree(whole: tuple[Path, Result], tiny: Tiny) -> None:
    """Bit for bit: every site's accuracy and AUC, the scores and the weights of every round."""
    for ours, theirs in zip(simulate(tiny(protection="ckks")).rounds, whole[1].rounds, strict=True):
        assert ours.personal == theirs.personal
        assert ours.everywhere == theirs.everywhere
        assert ours.similarity == theirs.similarity
        assert ours.weights == theirs.weights


@pytest.mark.parametrize("method", ALGORITHMS)
def test_every_method_runs_and_sends_what_it_says(method: str, tiny: Tiny) -> None:
    algorithm = ALGORITHMS[method]
    summary = simulate(tiny(method=method, rounds=2)).summary()
    assert summary["refused"] == []
    assert (summary["bytes"]["up_per_client_round"] > 0) == (algorithm.homomorphic.name != "SILENT")


def test_one_client_alone_is_a_study_too(tiny: Tiny) -> None:
    summary = simulate(tiny(clients=1, rounds=2, protection="ckks")).summary()
    assert summary["clients"] == 1
    assert summary["similarity_matrix"] == []


def test_bad_input_is_found_before_anything_is_written(tiny: Tiny, tmp_path: Path) -> None:
    for change in ({"method": "fedvag"}, {"dataset": "synthetc"}, {"clients": 1000}, {"options": {"influense": 1}}):
        with pytest.raises(BadInput):
            simulate(tiny(**change), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []

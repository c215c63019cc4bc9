"""Curves that TensorBoard reads, with the run's own numbers."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl import Config, RoundClosed, RunEvent, TensorBoardLog, resume, simulate
from secure_sapefl.engine.result import Result
from secure_sapefl.errors import BadInput

Make = Callable[..., Config]
accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def curves(folder: Path) -> object:
    events = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()
    return events


def check(events: object, result: Result, name: str, expected: list[float]) -> None:
    drawn = events.Scalars(name)  # type: ignore[attr-defined]
    assert [one.step for one in drawn] == [record.round_index + 1 for record in result.rounds]
    assert all(math.isclose(one.value, value, rel_tol=1e-6) for one, value in zip(drawn, expected, strict=True))


def test_every_number_of_every_round_and_the_spread_over_sites(tiny: Make, tmp_path: Path) -> None:
    result = simulate(tiny(rounds=2), observers=[TensorBoardLog(str(tmp_path / "logs"))])
    events = curves(tmp_path / "logs")
    assert set(events.Tags()["scalars"]) == set(result.rounds[0].numbers())  # type: ignore[attr-defined]
    check(events, result, "accuracy", [record.personal.accuracy.mean for record in result.rounds])
    check(events, result, "bytes/up", [record.traffic.up for record in result.rounds])
    (_, last) = events.Histograms("sites/accuracy")  # type: ignore[attr-defined]
    assert last.histogram_value.num == len(result.accuracy.per_client)
    assert math.isclose(last.histogram_value.sum, sum(result.accuracy.per_client))
    assert "rounds = 2" in events.Tensors("config/text_summary")[0].tensor_proto.string_val[0].decode()  # type: ignore[attr-defined]


def test_a_resumed_run_draws_each_round_once(tiny: Make, tmp_path: Path) -> None:
    def stop(event: RunEvent) -> None:
        if isinstance(event, RoundClosed):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(tiny(rounds=2), tmp_path / "run", observers=[TensorBoardLog(tmp_path / "logs"), stop])
    result = resume(tmp_path / "run", observers=[TensorBoardLog(tmp_path / "logs")])
    check(curves(tmp_path / "logs"), result, "auc", [record.personal.auc.mean for record in result.rounds])


def test_without_tensorboard_it_says_what_to_install(
    tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(BadInput, match=r"pip install 'secure-sapefl\[tensorboard\]'"):
        simulate(tiny(rounds=1), observers=[TensorBoardLog(tmp_path)])

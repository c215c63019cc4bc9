"""Ledgers on disk: budgets are shared by all runs that use them, and a resumed run does not pay twice."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import Simulation, resume, simulate
from secure_sapefl.errors import BadInput, LedgerRejected, SapeflError


def config(ledgers: Path, **changes: object) -> Config:
    values = {
        "method": "fedavg", "clients": 3, "rounds": 2, "participation": 1.0, "local_epochs": 1, "rows": 200,
        "protection": "plaintext", "dp_epsilon": 4.0, "dp_delta": 1e-4, "dp_ledgers": ledgers,
    }  # fmt: skip
    return Config(**{**values, **changes})  # type: ignore[arg-type]


def spent(result: Result) -> list[float]:
    privacy = result.summary()["privacy"]
    return list(privacy["epsilon_per_client"])


def lines(folder: Path) -> dict[str, int]:
    return {path.stem: len(path.read_text().splitlines()) for path in sorted(folder.glob("*.jsonl"))}


def test_what_one_run_spent_the_next_one_does_not_have(tmp_path: Path) -> None:
    first = Simulation(assemble(config(tmp_path / "ledgers"))).run()
    again = Simulation(assemble(config(tmp_path / "ledgers"))).run()
    alone = Simulation(assemble(config(tmp_path / "others"))).run()
    assert spent(first) == spent(alone)
    assert all(later <= 4.0 for later in spent(again))
    stopped = again.summary()["privacy"]["stopped"]
    assert {one["round"] for one in stopped} == {0, 1}
    assert {one["site"] for one in stopped} == set(again.facts["client_names"])
    assert again.skipped_rounds == [0, 1]


def test_a_resumed_run_goes_on_with_what_is_on_record(tmp_path: Path, stop_after: Callable[..., None]) -> None:
    whole = simulate(config(tmp_path / "whole"), tmp_path / "run")
    stop_after(config(tmp_path / "ledgers"), tmp_path / "stopped", 1)
    assert set(lines(tmp_path / "ledgers").values()) == {1}
    finished = resume(tmp_path / "stopped")
    assert lines(tmp_path / "ledgers") == lines(tmp_path / "whole")
    assert spent(finished) == spent(whole)
    assert finished.accuracy == whole.accuracy


def put_back(ledgers: Path, older: dict[Path, bytes]) -> None:
    for path in ledgers.iterdir():
        path.unlink()
    for path, content in older.items():
        path.write_bytes(content)


@pytest.mark.parametrize("copy", ["older", "none"])
def test_a_run_does_not_go_on_with_ledgers_that_forgot_what_it_paid(
    tmp_path: Path, stop_after: Callable[..., None], copy: str
) -> None:
    """Both files of every site are put back as they were before the run, or removed: only the run can know."""
    ledgers = tmp_path / "ledgers"
    simulate(config(ledgers, seed=1, rounds=1, dp_epsilon=1.0))
    older = {path: path.read_bytes() for path in ledgers.iterdir()} if copy == "older" else {}
    stop_after(config(ledgers, dp_epsilon=8.0), tmp_path / "run", 1)
    newer = {path: path.read_bytes() for path in ledgers.iterdir()}
    put_back(ledgers, older)
    with pytest.raises(LedgerRejected, match=r"client-0\.jsonl had 2 lines .*; now it has [01]"):
        resume(tmp_path / "run")
    put_back(ledgers, newer)
    assert len(resume(tmp_path / "run").rounds) == 2


@pytest.mark.parametrize("loss", ["cut", "removed"])
def test_a_ledger_that_lost_its_end_stops_the_study(tmp_path: Path, loss: str) -> None:
    simulate(config(tmp_path))
    ledger = tmp_path / "client-1.jsonl"
    if loss == "cut":
        ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    else:
        ledger.unlink()
    with pytest.raises(LedgerRejected, match=r"client-1\.jsonl, line \d is missing"):
        simulate(config(tmp_path))


def test_two_runs_at_once_do_not_share_a_ledger(tmp_path: Path) -> None:
    running = Simulation(assemble(config(tmp_path)))
    with pytest.raises(SapeflError, match="held by process"):
        Simulation(assemble(config(tmp_path)))
    del running


def test_a_changed_ledger_stops_the_study(tmp_path: Path) -> None:
    Simulation(assemble(config(tmp_path))).run()
    ledger = next(iter(sorted(tmp_path.glob("*.jsonl"))))
    ledger.write_text(ledger.read_text().replace('"steps":', '"steps":1', 1))
    with pytest.raises(SapeflError, match=ledger.name):
        Simulation(assemble(config(tmp_path)))


@pytest.mark.parametrize("name", ["../north", "wards/north", "north\n", "\x1b[2Jnorth"])
def test_a_ledger_lies_in_its_folder_whatever_a_site_is_called(tmp_path: Path, name: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(120, 3)), np.arange(120) % 2
    np.savez(tmp_path / "mine.npz", X=X, y=y, group=np.repeat([name, "south", "west"], 40))
    file = {
        "dataset": str(tmp_path / "mine.npz"),
        "data_options": {"standardise": "none"},
        "clients": None,
        "rows": None,
    }
    study = config(tmp_path / "ledgers", **file)
    with pytest.raises(BadInput, match=r"can have no ledger of its name.*Rename the site"):
        Simulation(assemble(study))
    assert {path.name for path in tmp_path.iterdir()} == {"mine.npz", "ledgers"}

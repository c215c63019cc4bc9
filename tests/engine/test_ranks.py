"""A simulation over two ranks is the one of a single process, bit for bit. Ranks are threads here, which pickle what
they tell each other; `test_torchrun.py` starts processes."""

import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch import distributed

from secure_sapefl import Config, resume, simulate
from secure_sapefl.engine import key_holders
from secure_sapefl.engine.events import RoundClosed, RunEvent
from secure_sapefl.engine.ranks import ALONE, Ranks, Together, TorchGroup, ranks_here, require_divisible
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.shares import Judged
from secure_sapefl.errors import BadInput

Make = Callable[..., Config]
Numbers = Callable[[Any], dict[str, Any]]
BUDGET: Final = {"dp_epsilon": 8.0, "dp_delta": 1e-3}


class Stopped(Exception):
    pass


class Thread:
    """A member of a group of threads."""

    def __init__(self, rank: int, meeting: threading.Barrier, table: list[bytes]) -> None:
        self.rank, self.count, self._meeting, self._table = rank, len(table), meeting, table

    def all_gather(self, mine: object) -> list[Any]:
        self._table[self.rank] = pickle.dumps(mine)
        self._meeting.wait()
        found = [pickle.loads(one) for one in self._table]  # noqa: S301 - made by this test
        self._meeting.wait()
        return found

    def gather(self, mine: object) -> list[Any]:
        found = self.all_gather(mine)
        return found if self.rank == 0 else []

    def broadcast(self, mine: object) -> Any:
        return self.all_gather(mine)[0]


def on_two_ranks(work: Callable[[Ranks], Any]) -> list[Any]:
    """What ``work`` comes to on each of them; where one fails, the other does not wait for it."""
    meeting, table = threading.Barrier(2), [b"", b""]

    def one(rank: int) -> Any:
        try:
            return work(Together(Thread(rank, meeting, table)))
        except BaseException:
            meeting.abort()
            raise

    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(one, rank) for rank in (0, 1)]]


def same(first: Result, second: Result, numbers: Numbers) -> None:
    assert numbers(first.summary()) == numbers(second.summary())
    assert first.models is not None
    assert second.models is not None
    torch.testing.assert_close(second.models.thetas, first.models.thetas, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
@pytest.mark.parametrize(
    "study",
    [
        {"method": "sapefl", "protection": "ckks"},
        {"method": "sapefl", "batch_size": 16, **BUDGET},
        {"method": "sapefl-plus", "optimizer": "adam", "keep_optimizer": True, "early_stopping": 1},
        {"method": "local", "evaluate_every": 2},
    ],
    ids=["encrypted", "private", "stopped early", "silent"],
)
def test_two_ranks_come_to_the_numbers_of_one(tiny: Make, numbers: Numbers, study: dict[str, Any]) -> None:
    config = tiny(clients=5, rounds=2, group_size=2, **study)
    alone = simulate(config)
    first, second = on_two_ranks(lambda ranks: simulate(config, ranks=ranks))
    same(alone, first, numbers)
    same(alone, second, numbers)
    assert [record.similarity for record in first.rounds] == [record.similarity for record in alone.rounds]


def test_every_rank_trains_its_own_groups(tiny: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[str, int]] = []

    def watched(*args: Any) -> Any:
        trained.append((threading.current_thread().name, len(args[-1])))
        return run_round(*args)

    run_round = key_holders.run_round
    monkeypatch.setattr(key_holders, "run_round", watched)
    on_two_ranks(lambda ranks: simulate(tiny(clients=4, rounds=1, participation=1.0), ranks=ranks))
    assert len({thread for thread, _ in trained}) == 2
    assert [sites for _, sites in trained] == [2, 2]


def test_a_run_whose_rank_was_lost_goes_on_with_two_or_with_one(tiny: Make, numbers: Numbers, tmp_path: Path) -> None:
    config = tiny(clients=4, rounds=3, group_size=2)
    whole = simulate(config)

    def stop(event: RunEvent) -> None:
        if isinstance(event, RoundClosed) and event.record.round_index == 1:
            raise Stopped

    for again in ("two", "one"):
        with pytest.raises(Stopped):
            on_two_ranks(
                lambda ranks, out=tmp_path / again: simulate(  # type: ignore[misc]  # bound in the loop
                    config, out, observers=[stop] if ranks.first else [], ranks=ranks
                )
            )
    for result in (*on_two_ranks(lambda ranks: resume(tmp_path / "two", ranks=ranks)), resume(tmp_path / "one")):
        same(whole, result, numbers)
    assert (tmp_path / "two" / "summary.json").is_file()


@pytest.mark.parametrize(
    "setting",
    [{"keys": "joint", "protection": "ckks"}, {"late_clients": 1}, {"dp_ledgers": "ledgers", **BUDGET}],
    ids=str,
)
def test_what_one_process_holds_is_refused_by_name(tiny: Make, setting: dict[str, Any]) -> None:
    config = tiny(**setting)
    require_divisible(config, ALONE)
    with pytest.raises(BadInput, match=f"2 ranks has no --{next(iter(setting)).replace('_', '-')}"):
        require_divisible(config, Together(Thread(0, threading.Barrier(2), [b"", b""])))


def test_without_torchrun_there_is_one_process_and_with_it_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    with ranks_here() as ranks:
        assert ranks is ALONE
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
    address["LOCAL_WORLD_SIZE"] = "1"
    for name, value in {"TORCHELASTIC_RUN_ID": "none", **address}.items():
        monkeypatch.setitem(os.environ, name, value)
    with ranks_here() as ranks:
        assert (ranks.first, ranks.count, ranks.from_first(lambda: "key")) == (True, 1, "key")
        nothing = torch.zeros((1, 2))
        judged = ranks.map(lambda part: Judged(part, [], [], nothing), [[0], [1]], Judged)
        assert [one.part for one in judged] == [[0], [1]]


@pytest.mark.parametrize(
    ("cards", "has_nccl", "ranks", "carrier", "card"),
    [
        (0, False, 2, "gloo", None),
        (0, True, 2, "gloo", None),
        (2, True, 2, "nccl", 1),
        (4, True, 2, "nccl", 1),
        (1, True, 2, "gloo", 0),  # NCCL refuses two processes on one card
        (2, False, 2, "gloo", 1),
    ],
)
def test_nccl_carries_messages_where_every_rank_has_a_card(
    cards: int, has_nccl: bool, ranks: int, carrier: str, card: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"card": None}
    monkeypatch.setitem(os.environ, "LOCAL_RANK", "1")
    monkeypatch.setitem(os.environ, "LOCAL_WORLD_SIZE", str(ranks))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    monkeypatch.setattr(torch.cuda, "set_device", lambda chosen: asked.update(card=chosen))
    monkeypatch.setattr(distributed, "is_nccl_available", lambda: has_nccl)
    monkeypatch.setattr(distributed, "init_process_group", lambda backend: asked.update(carrier=backend))
    monkeypatch.setattr(distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(distributed, "get_world_size", lambda: ranks)
    TorchGroup()
    assert asked == {"carrier": carrier, "card": card}

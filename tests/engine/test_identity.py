"""A run goes on with what it was begun with: the same rows, divided alike, by the same version, in one process."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.audit.audit import audit
from secure_sapefl.data import Federation, Rows
from secure_sapefl.data.fingerprint import fingerprint
from secure_sapefl.engine import identity
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.events import RoundClosed, RunEvent
from secure_sapefl.engine.run_folder import config_of
from secure_sapefl.engine.simulator import resume
from secure_sapefl.errors import BadInput, Busy
from secure_sapefl.report.model_card import rows_tested
from secure_sapefl.report.run import load_run

Tiny = Callable[..., Config]
Numbers = Callable[[Any], dict[str, Any]]


class Stopped(Exception):
    pass


def stop(event: RunEvent) -> None:
    if isinstance(event, RoundClosed):
        raise Stopped


def own_file(path: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    np.savez(path, X=rng.normal(size=(60, 3)), y=np.arange(60) % 2, group=np.repeat(["a", "b", "c"], 20))
    return path


@pytest.fixture
def own(tiny: Tiny, tmp_path: Path) -> Config:
    file = own_file(tmp_path / "mine.npz", seed=0)
    return tiny(dataset=str(file), clients=None, partition=None, data_options={}, rounds=2)


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_that_was_replaced_ends_the_run_by_name(own: Config, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Stopped):
        simulate(own, out, observers=[stop])
    before = files(out)
    own_file(tmp_path / "mine.npz", seed=1)
    with pytest.raises(BadInput, match=r"run: the data differs.*mine\.npz.*another --out"):
        resume(out)
    assert files(out) == before
    own_file(tmp_path / "mine.npz", seed=0)
    assert len(resume(out).rounds) == 2


def test_whatever_reads_the_rows_of_a_finished_run_again_notices_too(own: Config, tmp_path: Path) -> None:
    out = tmp_path / "run"
    simulate(own, out)
    assert rows_tested(load_run(out)) == (4, 4, 4)
    own_file(tmp_path / "mine.npz", seed=1)
    for read in (resume, audit):
        with pytest.raises(BadInput, match="the data differs"):
            read(out)
    assert rows_tested(load_run(out)) is None


def moved(federation: Federation) -> Federation:
    """The same rows, the first training row of the first two sites exchanged."""
    (one, other), rest = federation.clients[:2], federation.clients[2:]
    order = np.r_[len(one.train), 1 : len(one.train)], np.r_[0, len(one.train) + 1 : len(one.train) + len(other.train)]
    X, y = (np.concatenate(pair) for pair in ((one.train.X, other.train.X), (one.train.y, other.train.y)))
    swapped = [replace(c, train=Rows(X[rows], y[rows])) for c, rows in zip((one, other), order, strict=True)]
    return replace(federation, clients=(*swapped, *rest))


def test_a_federation_of_ones_own_is_needed_again(tiny: Tiny, numbers: Numbers, tmp_path: Path) -> None:
    own, out = federation_of(tiny(seed=7)), tmp_path / "run"
    with pytest.raises(Stopped):
        simulate(tiny(), out, federation=own, observers=[stop])
    with pytest.raises(BadInput, match=r"the data differs.*pass the same federation"):
        resume(out)
    whole = simulate(tiny(), federation=own)
    assert numbers(resume(out, federation=own).summary()) == numbers(whole.summary())


def test_the_same_rows_at_other_sites_are_another_run(tiny: Tiny, tmp_path: Path) -> None:
    own, out = federation_of(tiny()), tmp_path / "run"
    with pytest.raises(Stopped):
        simulate(tiny(), out, federation=own, observers=[stop])
    with pytest.raises(BadInput, match="the partition differs"):
        resume(out, federation=moved(own))


@pytest.mark.parametrize(
    ("begun", "changed", "key"),
    [
        ("dp_epsilon = 50.0", "dp_epsilon = 1.0", "dp_epsilon"),
        ("dp_epsilon = 50.0\ndp_delta = 1e-05\n", "", "dp_delta"),
        ("dp_clip = 1.0", "dp_clip = 9.0", "dp_clip"),
        ("lr = 0.05", "lr = 0.5", "lr"),
    ],
)
def test_a_setting_that_was_changed_ends_the_run_by_name(
    tiny: Tiny, tmp_path: Path, begun: str, changed: str, key: str
) -> None:
    """Rounds with little noise would be told as rounds with much."""
    out = tmp_path / "run"
    with pytest.raises(Stopped):
        simulate(tiny(method="fedavg", dp_epsilon=50.0, dp_delta=1e-5, lr=0.05), out, observers=[stop])
    text = (out / "config.toml").read_text()
    assert begun in text
    (out / "config.toml").write_text(text.replace(begun, changed))
    with pytest.raises(BadInput, match=f"the setting {key} differs"):
        resume(out)
    (out / "config.toml").write_text(text.replace('device = "auto"', 'device = "cpu"'))
    resume(out)


def test_a_run_with_ledgers_does_not_go_on_without(tiny: Tiny, tmp_path: Path) -> None:
    """What it spends from then on would be on no record that another run looks at."""
    out, ledgers = tmp_path / "run", tmp_path / "ledgers"
    with pytest.raises(Stopped):
        simulate(tiny(method="fedavg", dp_epsilon=50.0, dp_delta=1e-5, dp_ledgers=ledgers), out, observers=[stop])
    text = (out / "config.toml").read_text()
    (out / "config.toml").write_text(text.replace(f'dp_ledgers = "{ledgers}"\n', ""))
    with pytest.raises(BadInput, match="the setting dp_ledgers differs"):
        resume(out)
    ledgers.rename(tmp_path / "moved")
    (out / "config.toml").write_text(text.replace(str(ledgers), str(tmp_path / "moved")))
    resume(out)


def test_another_version_does_not_go_on(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    with pytest.raises(Stopped):
        simulate(tiny(), out, observers=[stop])
    begun = identity.__version__
    monkeypatch.setattr(identity, "__version__", "99")
    with pytest.raises(BadInput, match=rf"the version differs.*begun with secure-sapefl {begun}, this is 99"):
        resume(out)


@pytest.mark.parametrize("content", [None, "", "[]", '{"data": "1"}'])
def test_a_run_that_does_not_say_does_not_go_on(tiny: Tiny, tmp_path: Path, content: str | None) -> None:
    out = tmp_path / "run"
    simulate(tiny(rounds=1), out)
    (out / "identity.json").unlink()
    if content is not None:
        (out / "identity.json").write_text(content)
    with pytest.raises(BadInput, match=r"identity\.json"):
        resume(out)


def test_a_second_process_is_kept_out(tiny: Tiny, tmp_path: Path) -> None:
    out = tmp_path / "run"

    def intrude(_: RunEvent) -> None:
        with pytest.raises(Busy, match=r"The run in .*run is held by process \d+\. Wait until it ends"):
            resume(out)
        raise Stopped

    with pytest.raises(Stopped):
        simulate(tiny(), out, observers=[intrude])
    assert resume(out).summary()["rounds"] == config_of(out).rounds  # the lock went with the run


def test_both_digests_see_what_they_should(tiny: Tiny) -> None:
    federation = federation_of(tiny())
    data, partition = fingerprint(federation)
    first, *others = federation.clients
    renamed = replace(federation, clients=(replace(first, name="somebody else"), *others))
    assert fingerprint(renamed)[0] == data
    assert fingerprint(renamed)[1] != partition
    assert fingerprint(moved(federation))[0] == data
    y = first.train.y.copy()
    y[0] = (y[0] + 1) % federation.classes
    other_label = replace(first, train=Rows(first.train.X, y))
    assert fingerprint(replace(federation, clients=(other_label, *others)))[0] != data

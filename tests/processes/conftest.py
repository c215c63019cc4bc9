"""A study with real processes on loopback: one server, several sites, each with its own folder, keys and files."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secure_sapefl
from sapefl_crypto import CohortKey, Parameters, SiteIdentity
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.certificates import make_certificates, make_node_key
from sapefl_crypto.keys.custody import cohort_record, identity_record, seal_copy
from sapefl_crypto.keys.keyfile import KeyRecord, write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.consent import approve
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.policy import TEMPLATE
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.file import StudyFile, signed_text
from secure_sapefl.transport.flower import Child, free_port

ROOT = Path(secure_sapefl.__file__).parents[1]
FEATURES = 4
ANOTHER_KEY = "the same update under another key"
PATIENCE = 900.0  # seconds until a test gives up on a study that does not move; no test measures time


@dataclass
class Deployment:
    """Folders and processes of a study. Everything it starts, it ends."""

    folder: Path
    file: StudyFile
    port: int
    tls: bool
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    python: str = sys.executable
    more_environment: dict[str, str] = field(default_factory=dict)

    def home(self, site: str) -> SiteHome:
        return SiteHome(self.folder / site)

    @property
    def state(self) -> Path:
        return self.folder / "server"

    def start_server(self, *more: str) -> subprocess.Popen[bytes]:
        line = ["--tls", str(self.folder / "tls")] if self.tls else ["--without-tls"]
        return self._start(
            "server",
            *("server", "start", "--study", str(self.folder / "study.toml"), "--json-logs"),
            *("--key", str(self.folder / "coordinator.key"), "--state", str(self.state)),
            *("--node-keys", str(self.folder / "nodes"), "--listen", f"127.0.0.1:{self.port}", *line, *more),
        )

    def start_site(self, site: str, *more: str) -> subprocess.Popen[bytes]:
        line = ["--ca", str(self.folder / "tls" / "ca.pem")] if self.tls else ["--without-tls"]
        return self._start(
            site,
            *("site", "start", "--study", str(self.folder / "study.toml"), "--json-logs"),
            *("--home", str(self.folder / site), "--server", f"127.0.0.1:{self.port}", *line, *more),
        )

    def start_all(self) -> None:
        self.start_server()
        for site in self.file.sites:
            self.start_site(site)

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [self.python, "-m", "secure_sapefl", *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OMP_NUM_THREADS": "1", **self.more_environment},
            )
        return self.processes[name]

    def kill(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def status(self) -> dict[str, Any]:
        path = self.state / "status.json"
        return json.loads(path.read_bytes()) if path.exists() else {"closed": 0, "finished": False, "sites": []}

    def site_status(self, site: str) -> dict[str, Any]:
        path = self.home(site).study_folder(self.file.digest) / "status.json"
        return json.loads(path.read_bytes()) if path.exists() else {"absorbed": 0, "answered": 0}

    def events(self, site: str, kind: str) -> list[SiteEvent]:
        home = self.home(site)
        return [e.event for e in LedgerFiles(home.ledger_path).read(home.public).entries if e.event.kind == kind]

    def sent(self, site: str) -> list[int]:
        """Rounds of which something left."""
        return sorted({event.round_index for event in self.events(site, "sent") if event.round_index is not None})

    def under(self, name: str, program: str = "") -> list[int]:
        """Processes below one of ours whose command line holds ``program``."""
        return [pid for pid, command in descendants(self.processes[name].pid) if program in command]

    def superlink(self) -> str:
        """Where it listens, as anybody on the server's machine can see."""
        (pid,) = self.under("server", "flower-superlink")
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        return f"127.0.0.1:{words[words.index('--port') + 1]}"

    def superexec(self, near: Path, home: Path, **more: Any) -> Child:
        """Flower's own, which executes whatever was submitted; for a test to start who has Flower's secret."""
        words = ["flower-superexec", "--runtime-api-address", self.superlink()]
        words += ["--root-certificates", str(near / "tls" / "ca.pem")]
        words += ["--superexec-auth-secret-file", str(near / "secret")]
        return Child(words, home, self.folder / "superexec.log", **more)

    def wait_for(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not what():
            alive = any(process.poll() is None for process in self.processes.values())
            assert what() or (alive and time.monotonic() < end), self.report()
            time.sleep(0.2)

    def paid(self, site: str) -> set[int]:
        """Rounds that the privacy ledger names, while the site goes on writing it."""
        path = self.home(site).privacy_path
        lines = path.read_text().splitlines() if path.exists() else []
        return {json.loads(line)["round_index"] for line in lines}

    def wait_to_finish(self, *names: str) -> None:
        """Until the processes named, or all, have ended by themselves and well."""
        for name in names or tuple(self.processes):
            self.wait_for(lambda name=name: self.processes[name].poll() is not None)
            assert self.processes[name].returncode == 0, self.report()

    def wait_to_finish_well(self, *absent: str) -> None:
        """Everybody ended by themselves; nothing was sent twice, and nothing paid twice; all have the same model."""
        self.wait_to_finish(*(name for name in self.processes if name not in absent))
        rounds, models = self.file.rounds, []
        assert self.status()["closed"] == rounds
        for site in (name for name in self.file.sites if name not in absent):
            state = self.site_state(site)
            models.append(state.theta_global)
            assert state.absorbed == rounds - 1
            self.assert_nothing_counted_twice(site)
        for model in models[1:]:
            np.testing.assert_array_equal(model, models[0])

    def site_state(self, site: str) -> SiteState:
        return SiteState.load(self.home(site).state_path(self.file.digest), study=self.file.digest, site=site)

    def assert_nothing_counted_twice(self, site: str) -> None:
        """With joint keys a second attempt at a round has the same update under another key, and says so."""
        digests: dict[int | None, set[str]] = {}
        for event in (one for one in self.events(site, "sent") if one.note != ANOTHER_KEY):
            digests.setdefault(event.round_index, set()).add(event.digest)
        assert all(len(found) == 1 for found in digests.values()), "two different releases of one round"
        if self.file.privacy is not None:
            with FileStore(self.home(site).privacy_path) as store:
                paid = [(event.release, event.round_index) for event in store.load()]
            assert len(paid) == len(set(paid)), "a round was paid for twice"
            assert {index for _, index in paid} == set(digests)

    def report(self) -> str:
        """The last words of everybody, for a test that fails."""
        logs = (*self.folder.glob("*.log"), *self.folder.glob("*/*.log"))
        return "\n".join(f"== {log.parent.name}/{log.name}\n{log.read_text(errors='replace')[-1500:]}" for log in logs)

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Every process under ``pid``, with its command line."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            command = path.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if parent == pid:
            yield int(path.parent.name), command
            yield from descendants(int(path.parent.name))


def table_schema() -> dict[str, Any]:
    features = [{"name": f"x{i}", "low": -5.0, "high": 5.0} for i in range(FEATURES)]
    return {"kind": "table", "label": "y", "classes": ["no", "yes"], "features": features}


def write_rows(path: Path, number: int, rows: int) -> None:
    rng = np.random.default_rng(number)
    x = rng.normal(size=(rows, FEATURES)).clip(-5, 5)
    y = np.where(x[:, number % FEATURES] > 0, "yes", "no")
    lines = [",".join([*(f"{v:.6f}" for v in row), label]) for row, label in zip(x, y, strict=True)]
    path.write_text("\n".join([",".join([*(f"x{i}" for i in range(FEATURES)), "y"]), *lines]) + "\n")


def loose_policy() -> str:
    return (
        TEMPLATE.replace("without_privacy = false", "without_privacy = true")
        .replace("repeatable_noise = false", "repeatable_noise = true")
        .replace("max_epsilon_per_study = 4.0", "max_epsilon_per_study = 100.0")
        .replace("max_epsilon_lifetime = 8.0", "max_epsilon_lifetime = 100.0")
        .replace("1e-5", "1e-3")
        .replace("# max_epsilon_shared = 2.0", "max_epsilon_shared = 100.0")
        .replace("# min_honest_sites = 10", "min_honest_sites = 1")
        .replace("min_cohort = 3", "min_cohort = 2")
        .replace('code = "never"', 'code = "reviewed"')
    )


PROGRAMS = ("flower-superlink", "flower-supernode", "flower-superexec", "flwr", "flwr-serverapp", "flwr-clientapp")


@pytest.fixture
def anybody() -> Callable[[Path], tuple[str, dict[str, str]]]:
    """``anybody(folder)``: a Python of this version that `nobody` may run, for ours may lie in a folder that is closed
    to others; and the environment in which Flower's programs, put into ``folder``, are run by it with our packages."""

    def find(folder: Path) -> tuple[str, dict[str, str]]:
        for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
            try:
                subprocess.run([python, "-c", ""], user="nobody", group="nogroup", extra_groups=[], check=True)
            except (OSError, subprocess.CalledProcessError):
                continue
            return python, _programs(python, folder)
        pytest.skip("the user 'nobody' cannot run any Python of this version here")

    return find


def _programs(python: str, folder: Path) -> dict[str, str]:
    for name in PROGRAMS:
        (entry,) = (e for e in entry_points(group="console_scripts") if e.name == name)
        module, _, function = entry.value.partition(":")
        (folder / name).write_text(f"#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        (folder / name).chmod(0o755)
    paths = [path for path in sys.path if path and not path.startswith(sys.base_prefix)]
    return {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join([str(ROOT), *paths])}


Deploy = Callable[..., Deployment]


def _cohort(file: StudyFile) -> KeyRecord:
    if file.keys == "joint":
        return cohort_record(Secret(TagRoot.generate().export_secret()), study=file.name, parameters={"keys": "joint"})
    params = Parameters.exact(max_clients=file.protection.max_clients, max_abs_value=file.protection.max_abs_value)
    return cohort_record(Secret(CohortKey.generate(params).export_secret()), study=file.name, parameters={})


@pytest.fixture
def deploy(tmp_path: Path) -> Iterator[Deploy]:
    """``deploy({"north": csv, …}, rounds=2)``: everything a study needs before its processes start."""
    made: list[Deployment] = []

    def build(files: dict[str, Path], *, tls: bool = True, **fields: Any) -> Deployment:
        folder = tmp_path / f"d{len(made)}"
        folder.mkdir()
        identities = {site: SiteIdentity.generate(site) for site in files}
        coordinator = SiteIdentity.generate("coordinator")
        write_key(folder / "coordinator.key", identity_record(coordinator))
        defaults: dict[str, Any] = {
            "name": "trial",
            "coordinator": coordinator.public.to_text(),
            "roster": tuple(one.public.to_text() for one in identities.values()),
            "method": "sapefl",
            "rounds": 2,
            "local_epochs": 1,
            "largest_site": 1000,
            "round_deadline": 3600.0,  # whoever is left out of a round on a busy machine changes what a test compares
            "protection": {"max_clients": len(files)},
            "data": table_schema(),
        }
        file = StudyFile(**(defaults | fields))
        (folder / "study.toml").write_text(signed_text(file, coordinator))
        cohort = _cohort(file)
        (folder / "nodes").mkdir()
        for site, identity in identities.items():
            home = SiteHome.create(folder / site, identity, files[site], loose_policy())
            write_key(folder / f"{site}.sealed", seal_copy(cohort, identity.public))
            home.take_cohort_key(folder / f"{site}.sealed", str(cohort.about["fingerprint"]))
            approve(home, folder / "study.toml", identity)
            (folder / f"{site}.run").mkdir(mode=0o700)
            public = make_node_key(folder / f"{site}.run" / "node.key")
            (folder / "nodes" / f"{site}.pub").write_bytes(public.read_bytes())
        if tls:
            (folder / "tls").mkdir()
            make_certificates(folder / "tls", ["127.0.0.1", "localhost"])
        made.append(Deployment(folder=folder, file=file, port=free_port(), tls=tls))
        return made[-1]

    yield build
    for one in made:
        one.close()


@pytest.fixture
def small(deploy: Deploy, tmp_path: Path) -> Deploy:
    """``small(rounds=3)``: three sites with a few dozen rows each."""

    def build(sites: int = 3, **fields: Any) -> Deployment:
        data = {}
        for number, site in enumerate(("north", "east", "south", "west")[:sites]):
            data[site] = tmp_path / f"{site}.csv"
            write_rows(data[site], number, 40 + 6 * number)
        return deploy(data, **fields)

    return build


@pytest.fixture(params=["shared", "joint"])
def either(small: Deploy, request: pytest.FixtureRequest) -> Deploy:
    """``either(rounds=3)``: the same with each kind of keys. Of four sites with joint keys, three open a sum."""
    return small if request.param == "shared" else lambda **fields: small(4, keys="joint", **fields)

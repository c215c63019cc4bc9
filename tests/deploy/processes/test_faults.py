"""What real processes do when they are killed, filled up, lied to or replaced; every study still ends, and well.

Each test prints a line of evidence, which docs/reliability.md repeats.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import secure_sapefl
from sapefl_crypto import SiteIdentity
from sapefl_crypto.certificates import make_node_key
from secure_sapefl.deploy.agent_socket import AgentSocket
from secure_sapefl.deploy.flower import Child, Tls, environment, free_port, supernode_command
from secure_sapefl.deploy.parts import Parts
from secure_sapefl.deploy.site_state import SiteState
from secure_sapefl.deploy.wire import ToServer, read_to_site, write_to_server
from secure_sapefl.privacy.ledger_file import FileStore

pytestmark = pytest.mark.slow
ROOT = Path(secure_sapefl.__file__).parents[1]
Small = Callable[..., Any]
PRIVATE = {"epsilon": 8.0, "delta": 1e-4}


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


def find(pid: int, program: str) -> list[int]:
    return [found for found, command in descendants(pid) if program in command]


def finished_well(study: Any, *absent: str) -> None:
    """Everybody ended by themselves; nothing was sent twice, and nothing paid twice; all have the same global model."""
    study.wait_to_finish(*(name for name in study.processes if name not in absent))
    rounds, models = study.file.rounds, []
    assert study.status()["closed"] == rounds
    for site in (name for name in study.file.sites if name not in absent):
        home = study.home(site)
        state = SiteState.load(home.state_path(study.file.digest), study=study.file.digest, site=site)
        models.append(state.theta_global)
        assert state.absorbed == rounds - 1
        digests: dict[int, set[str]] = {}
        for event in study.events(site, "sent"):
            digests.setdefault(event.round_index, set()).add(event.digest)
        assert all(len(found) == 1 for found in digests.values()), "two different releases of one round"
        if study.file.privacy is not None:
            with FileStore(home.privacy_path) as store:
                paid = [(event.release, event.round_index) for event in store.load()]
            assert len(paid) == len(set(paid)), "a round was paid for twice"
            assert {index for _, index in paid} == set(digests)
    for model in models[1:]:
        np.testing.assert_array_equal(model, models[0])


def test_a_site_killed_while_it_computes_goes_on_without_a_second_payment(small: Small) -> None:
    study = small(rounds=3, local_epochs=300, privacy=PRIVATE)
    study.start_all()
    ledger = study.home("east").privacy_path
    study.wait_for(lambda: ledger.exists() and '"round_index": 1' in ledger.read_text())
    study.kill("east")
    sent = [event.round_index for event in study.events("east", "sent")]
    study.start_site("east")
    finished_well(study)
    print(f"\nsite killed: had paid for round 1, had sent {sent}; sent {_sent(study, 'east')} in the end")
    assert sent == [0]
    assert _sent(study, "east") == [0, 1, 2]


def test_the_server_killed_within_a_round_goes_on_in_that_round(small: Small) -> None:
    study = small(rounds=3)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    under = [pid for pid, _ in descendants(study.processes["server"].pid)]
    study.kill("server")
    study.wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in under))
    at = study.status()["closed"]
    study.start_server()
    finished_well(study)
    print(f"\nserver killed in round {at}: {len(under)} processes under it ended; the study went on and ended")


@pytest.mark.parametrize("program", ["flower-superlink", "flwr-serverapp"])
def test_a_killed_program_of_the_server_is_replaced(small: Small, program: str) -> None:
    study = small(rounds=3)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    (pid, *_) = find(study.processes["server"].pid, program)
    os.kill(pid, signal.SIGKILL)
    finished_well(study)
    log = (study.folder / "server.log").read_text()
    print(f"\n{program} killed in round 1: {log.count('a run of the study was started')} runs started in all")
    assert log.count("a run of the study was started") >= 2


def test_a_killed_relay_is_started_again_and_let_in_again(small: Small) -> None:
    study = small(rounds=3)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    (pid, *_) = find(study.processes["east"].pid, "flower-supernode")
    os.kill(pid, signal.SIGKILL)
    finished_well(study)
    log = (study.folder / "east.log").read_text()
    codes = [json.loads(line)["code"] for line in log.splitlines() if '"code"' in line]
    print(f"\nrelay killed: its exit codes until it was let in again: {codes}")
    assert codes[0] == -signal.SIGKILL


def test_a_site_that_never_comes_back_does_not_stop_the_others(small: Small) -> None:
    study = small(rounds=3, round_deadline=30.0)
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    study.kill("south")
    finished_well(study, "south")
    south = next(site for site in study.status()["sites"] if site["site"] == "south")
    print(f"\nsite gone: the others ended; the server says of it {south['answer']!r}, {south['absorbed']} rounds")
    assert south["absorbed"] < 3


def test_a_stranger_at_the_door_counts_for_nothing(small: Small) -> None:
    """A relay that Flower admits, with an agent behind it that answers in the name of a hospital, with its own key."""
    study = small(rounds=2)
    folder, intruder = study.folder / "stranger", SiteIdentity.generate("east")
    folder.mkdir()
    (study.folder / "nodes" / "stranger.pub").write_bytes(make_node_key(folder / "node.key").read_bytes())
    coordinator, name = study.file.coordinator_keys, study.file.wire_name

    def answer(parts: Parts) -> Parts:
        letter = read_to_site(parts, coordinator, name)
        reply = ToServer(site="east", round_index=letter.round_index, nonce=letter.nonce, absorbed=0, declined="me")
        return write_to_server(reply, intruder, name)

    socket = AgentSocket(folder / "agent.sock")
    thread = Thread(target=socket.serve, args=(answer,))
    thread.start()
    tls = Tls(ca=study.folder / "tls" / "ca.pem")
    command = supernode_command(f"127.0.0.1:{study.port}", free_port(), socket.path, tls, folder / "node.key")
    stranger = Child(command, folder, folder / "stranger.log")
    study.start_all()
    try:
        while not (study.status().get("foreign_nodes") or study.status()["finished"]):
            stranger.keep_running()
            time.sleep(0.2)
        seen = study.status().get("foreign_nodes")
        finished_well(study)
    finally:
        stranger.stop()
        socket.stop()
        thread.join()
    log = (study.state / "server.log").read_text()
    said = next(json.loads(line)["event"] for line in log.splitlines() if "signature does not hold" in line)
    print(f"\nstranger: {seen} foreign node; {said}")
    assert seen == 1


def test_a_node_with_an_unknown_key_is_not_let_in(small: Small) -> None:
    study = small(rounds=1)
    study.start_all()
    study.wait_for(lambda: "a run of the study" in (study.folder / "server.log").read_text())
    folder = study.folder / "stranger"
    folder.mkdir()
    make_node_key(folder / "node.key")
    tls = Tls(ca=study.folder / "tls" / "ca.pem")
    command = supernode_command(f"127.0.0.1:{study.port}", free_port(), folder / "no.sock", tls, folder / "node.key")
    with (folder / "stranger.log").open("wb") as log:
        done = subprocess.run(command, env=environment(folder), stdout=log, stderr=subprocess.STDOUT, check=False)
    finished_well(study)
    said = "305" in (folder / "stranger.log").read_text()
    print(f"\nunknown key: Flower's SuperNode gave up with exit code {done.returncode}; its log names 305: {said}")
    assert done.returncode != 0


def test_a_changed_study_file_starts_nothing(small: Small) -> None:
    study = small(rounds=2)
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace("rounds = 2", "rounds = 3"))
    for start in (study.start_server, lambda: study.start_site("east")):
        process = start()
        assert process.wait() == 2
    words = (study.folder / "east.log").read_text()
    print(f"\nchanged study: exit code 2; {words.strip().splitlines()[-1]}")
    assert not study.events("east", "started")


def test_a_full_disk_at_the_ledger_stops_the_site_before_anything_leaves(small: Small) -> None:
    """The kernel refuses further bytes to the site's files; with room again, the same upload goes out."""
    study = small(rounds=2, privacy=PRIVATE)
    study.start_server()
    for site in ("north", "south"):
        study.start_site(site)
    code = f"""
import os, resource
from secure_sapefl.cli.app import main
from secure_sapefl.deploy import agent
original = agent.Agent._send

def full(self, *arguments, **options):
    room = os.stat({str(study.home("east").ledger_path)!r}).st_size + 20
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    original(self, *arguments, **options)

agent.Agent._send = full
main()
"""
    line = ["site", "start", "--study", study.folder / "study.toml", "--home", study.folder / "east"]
    line += ["--server", f"127.0.0.1:{study.port}", "--ca", study.folder / "tls" / "ca.pem"]
    full = subprocess.run([sys.executable, "-c", code, *map(str, line)], capture_output=True, text=True, check=False)
    said = full.stderr.strip().splitlines()[-1]
    assert full.returncode == 2, full.stderr
    assert "Nothing was sent" in said
    assert not study.events("east", "sent")
    study.start_site("east")
    finished_well(study)
    print(f"\ndisk full: exit code 2, {said!r}; afterwards sent {_sent(study, 'east')}")


def test_a_server_that_hands_out_one_sites_ciphertext_is_found_out(small: Small, tmp_path: Path) -> None:
    """The server's own processes are patched to return the first frame as the sum, with the claim of an honest one."""
    patch = tmp_path / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(
        """
import sys
import tempfile
if any("serverapp" in word for word in sys.argv) or "serverapp" in sys.executable:
    from sapefl_crypto import aggregator
    from sapefl_crypto.aggregate import Aggregate
    Honest = aggregator.Aggregator
    class Cheat(Honest):
        def __init__(self, params, **k):
            super().__init__(params, **k)
            self.first, self.args = None, (params, k)
        def add(self, frame, score, *, sender=None):
            if self.first is None:
                self.first = Honest(self.args[0], **self.args[1])
                self.first.add(frame, score, sender=sender)
            super().add(frame, score, sender=sender)
        def finish(self):
            honest = super().finish()
            return Aggregate(occasion=honest.occasion, claim=honest.claim, payload=self.first.finish().payload)
    aggregator.Aggregator = Cheat
"""
    )
    study = small(rounds=2)
    os.environ["PYTHONPATH"] = str(patch)
    try:
        study.start_server()
    finally:
        del os.environ["PYTHONPATH"]
    for site in study.file.sites:
        study.start_site(site)
    study.wait_to_finish()
    for site in study.file.sites:
        assert "tags" in study.site_status(site)["halted"]
        assert next(event.checks for event in study.events(site, "refused")) == {"tags": False}
        assert _sent(study, site) == [0]
    print(f"\ndishonest server: {study.site_status('east')['halted']}")


def _sent(study: Any, site: str) -> list[int]:
    return sorted({event.round_index for event in study.events(site, "sent")})


SPY = '''
"""A foreign app: reads what it can, where the relay's user can."""
import os
from pathlib import Path
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

client = ClientApp()
TARGETS = {targets!r}


@client.query()
def spy(message: Message, context: Context) -> Message:
    found = []
    for target in TARGETS:
        try:
            found.append(f"{{target}}: {{len(Path(target).read_bytes())}} bytes read")
        except OSError as error:
            found.append(f"{{target}}: {{error.strerror}}")
    Path({out!r}).write_text("\\n".join([f"uid {{os.getuid()}}", *found]))
    return Message(RecordDict(), reply_to=message)


server = ServerApp()


@server.main()
def ask(grid: Grid, context: Context) -> None:
    nodes = list(grid.get_node_ids())
    grid.send_and_receive([Message(RecordDict(), node, "query") for node in nodes], timeout=60)
'''


PROGRAMS = ("flower-supernode", "flower-superexec", "flwr-clientapp")


def python_for_anybody() -> str | None:
    """A Python of this version that `nobody` may run; ours may lie in a folder that is closed to others."""
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        try:
            subprocess.run([python, "-c", ""], user="nobody", group="nogroup", extra_groups=[], check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    return None


def programs_for(python: str, folder: Path) -> dict[str, str]:
    """Flower's programs run by that Python with our packages; the environment that makes a site use them."""
    for name in PROGRAMS:
        (entry,) = (e for e in entry_points(group="console_scripts") if e.name == name)
        module, _, function = entry.value.partition(":")
        (folder / name).write_text(f"#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        (folder / name).chmod(0o755)
    paths = [path for path in sys.path if path and not path.startswith(sys.base_prefix)]
    return {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join([str(ROOT), *paths])}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the relay as another user")
def test_a_foreign_app_reads_nothing_as_the_relays_user(small: Small, tmp_path: Path) -> None:
    """Somebody submits a run of their own to the SuperLink; Flower executes it at the site, as `nobody`."""
    python = python_for_anybody()
    if python is None:
        pytest.skip("the user 'nobody' cannot run any Python of this version here")
    study = small(rounds=2)
    study.start_server()
    outside = Path(tempfile.mkdtemp(prefix="relay-"))  # pytest's own folders are closed to others
    outside.chmod(0o755)
    (outside / "ca.pem").write_bytes((study.folder / "tls" / "ca.pem").read_bytes())
    study.python, study.more_environment = python, programs_for(python, outside)
    for site in study.file.sites:
        place = ("--run", str(outside / site), "--ca", str(outside / "ca.pem"))
        study.start_site(site, "--relay-user", "nobody", *place)
        public = outside / site / "node.key.pub"
        study.wait_for(public.exists)
        (study.folder / "nodes" / f"{site}.pub").write_bytes(public.read_bytes())
    study.wait_for(lambda: study.status()["closed"] >= 1)
    app, out = tmp_path / "spy", Path(tempfile.gettempdir()) / f"spy-{os.getpid()}.txt"  # anybody may write there
    home = study.home("east")
    targets = [home.identity_path, home.path / "cohort" / "trial.key", home.ledger_path, home.data_path]
    home.data_path.chmod(0o600)
    (app / "spy").mkdir(parents=True)
    (app / "spy" / "__init__.py").write_text(SPY.format(targets=[str(t) for t in targets], out=str(out)))
    (app / "pyproject.toml").write_text(
        '[project]\nname = "spy"\nversion = "1.0.0"\nlicense = "Apache-2.0"\n\n[tool.flwr.app]\npublisher = "spy"\n\n'
        '[tool.flwr.app.components]\nserverapp = "spy:server"\nclientapp = "spy:client"\n\n'
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    )
    flower = environment(study.state / "flower")
    done = subprocess.run(["flwr", "run", str(app)], env=flower, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    try:
        study.wait_for(out.exists)
        said = out.read_text()
        finished_well(study)
    finally:
        out.unlink(missing_ok=True)
        shutil.rmtree(outside)
    print(f"\nforeign app: {said}")
    assert f"uid {os.geteuid()}" not in said
    assert "bytes read" not in said

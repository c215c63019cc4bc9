"""Nodes and apps that are none of the study's: what they get at. Each test prints a line for docs/reliability.md."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import secure_sapefl
from sapefl_crypto import SiteIdentity
from sapefl_crypto.keys.certificates import make_node_key
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.agent_socket import AgentSocket
from secure_sapefl.transport.flower import Child, Tls, environment, free_port, relay_command
from secure_sapefl.transport.wire import ToServer, read_to_site, write_to_server

pytestmark = pytest.mark.slow
ROOT = Path(secure_sapefl.__file__).parents[1]
Small = Callable[..., Any]
Anybody = Callable[[Path], tuple[str, dict[str, str]]]


def test_a_stranger_at_the_door_counts_for_nothing(either: Small) -> None:
    """A relay that Flower admits, with an agent behind it that answers in the name of a hospital, with its own key."""
    study = either(rounds=2)
    folder, intruder = study.folder / "stranger", SiteIdentity.generate("east")
    folder.mkdir()
    (study.folder / "nodes" / "stranger.pub").write_bytes(make_node_key(folder / "node.key").read_bytes())
    coordinator, name = study.file.coordinator_keys, study.file.wire_name

    def answer(parts: Parts) -> Parts:
        message = read_to_site(parts, coordinator, name)
        reply = ToServer(site="east", round_index=message.round_index, nonce=message.nonce, absorbed=0, declined="me")
        return write_to_server(reply, intruder, name)

    socket = AgentSocket(folder / "agent.sock")
    thread = Thread(target=socket.serve, args=(answer,))
    thread.start()
    tls = Tls(ca=study.folder / "tls" / "ca.pem")
    command = relay_command(f"127.0.0.1:{study.port}", free_port(), socket.path, tls, folder / "node.key")
    stranger = Child(command, folder, folder / "stranger.log")
    study.start_all()
    try:
        while not (study.status().get("foreign_nodes") or study.status()["finished"]):
            stranger.keep_running()
            time.sleep(0.2)
        seen = study.status().get("foreign_nodes")
        study.wait_to_finish_well()
    finally:
        stranger.stop()
        socket.stop()
        thread.join()
    log = (study.state / "server.log").read_text()
    said = next(json.loads(line)["event"] for line in log.splitlines() if "signature does not hold" in line)
    print(f"\nstranger: {seen} foreign node; {said}")
    assert seen == 1


def test_a_node_with_an_unknown_key_is_not_let_in(either: Small) -> None:
    study = either(rounds=1)
    study.start_all()
    study.wait_for(lambda: "a run of the study" in (study.folder / "server.log").read_text())
    folder = study.folder / "stranger"
    folder.mkdir()
    make_node_key(folder / "node.key")
    tls = Tls(ca=study.folder / "tls" / "ca.pem")
    command = relay_command(f"127.0.0.1:{study.port}", free_port(), folder / "no.sock", tls, folder / "node.key")
    with (folder / "stranger.log").open("wb") as log:
        done = subprocess.run(command, env=environment(folder), stdout=log, stderr=subprocess.STDOUT, check=False)
    study.wait_to_finish_well()
    said = "305" in (folder / "stranger.log").read_text()
    print(f"\nunknown key: Flower's SuperNode gave up with exit code {done.returncode}; its log names 305: {said}")
    assert done.returncode != 0


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the relay as another user")
def test_a_foreign_app_reads_nothing_as_the_relays_user(small: Small, anybody: Anybody, tmp_path: Path) -> None:
    """Somebody at the server submits a run of their own and, with Flower's secret, has it executed, as `server start`
    does not. Flower ships it to the sites and executes it there, as `nobody`."""
    study = small(rounds=2)
    study.start_server()
    outside = Path(tempfile.mkdtemp(prefix="relay-"))  # pytest's own folders are closed to others
    outside.chmod(0o755)
    (outside / "ca.pem").write_bytes((study.folder / "tls" / "ca.pem").read_bytes())
    study.python, study.more_environment = anybody(outside)
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
    executor = study.superexec(study.folder / "server.run", tmp_path)
    executor.start()
    try:
        study.wait_for(out.exists)
        said = out.read_text()
        executor.stop()
        study.wait_to_finish_well()
    finally:
        executor.stop()
        out.unlink(missing_ok=True)
        shutil.rmtree(outside)
    print(f"\nforeign app: {said}")
    assert f"uid {os.geteuid()}" not in said
    assert "bytes read" not in said

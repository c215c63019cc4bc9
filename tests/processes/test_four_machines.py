"""The guide in docs/deployment.md, typed line by line on four machines: network namespaces with a cable to a switch.

Each has a folder, a user's passphrase and a network of its own. What one of them gets from another is copied, as by
scp. What is typed is the guide's line that begins so, and there must be just one.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import secure_sapefl

GUIDE = (Path(secure_sapefl.__file__).parents[1] / "docs" / "deployment.md").read_text().replace("\\\n", " ")
LINES = {" ".join(line.split()) for line in GUIDE.splitlines()}
HOSPITALS = ("hospital-a", "hospital-b", "hospital-c")
PATIENCE = 900.0


@dataclass(frozen=True)
class Machine:
    name: str
    folder: Path

    def type(self, line: str, *, expect: int = 0, changed: tuple[tuple[str, str], ...] = ()) -> str:
        """Run the guide's line that begins so, with ``changed`` words where this machine is not the guide's."""
        done = subprocess.run(self._words(line, changed), **self._place(), capture_output=True, text=True, check=False)
        assert done.returncode == expect, f"{self.name}: {line}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def start(self, line: str, *, changed: tuple[tuple[str, str], ...] = ()) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(self._words(line, changed), **self._place(), stdout=log, stderr=log)

    def send(self, name: str, to: "Machine", new_name: str = "") -> None:
        target = to.folder / (new_name or Path(name).name)
        shutil.copy(self.folder / name, target)

    def _words(self, line: str, changed: tuple[tuple[str, str], ...]) -> list[str]:
        (line,) = (one for one in LINES if one.startswith(line))
        for old, new in changed:
            assert old in line
            line = line.replace(old, new)
        words = shlex.split(line)
        program = [sys.executable, "-m", "secure_sapefl"] if words[0] == "secure-sapefl" else words[:1]
        return ["ip", "netns", "exec", f"sapefl-{self.name}", *program, *words[1:]]

    def _place(self) -> dict[str, object]:
        words = {"SAPEFL_PASSPHRASE": f"correct horse of {self.name}", "OMP_NUM_THREADS": "1"}
        return {"cwd": self.folder, "env": {**os.environ, **words, "COLUMNS": "120"}}


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[dict[str, Machine]]:
    """Four, on a switch of their own; all know `study.example.org`."""
    made, hosts = {}, Path("/etc/netns")
    ip("link", "add", "sapefl-switch", "type", "bridge")
    try:
        ip("link", "set", "sapefl-switch", "up")
        for number, name in enumerate(("coordinator", *HOSPITALS), start=1):
            space, cable = f"sapefl-{name}", f"sapefl-{number}"
            ip("netns", "add", space)
            ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", cable, "master", "sapefl-switch", "up")
            ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                ip("-n", space, "link", "set", device, "up")
            (hosts / space).mkdir(parents=True)
            (hosts / space / "hosts").write_text("127.0.0.1 localhost\n10.77.0.1 study.example.org\n")
            made[name] = Machine(name, tmp_path / name)
            made[name].folder.mkdir()
        yield made
    finally:
        for name in ("coordinator", *HOSPITALS):
            ip("netns", "delete", f"sapefl-{name}", check=False)
            shutil.rmtree(hosts / f"sapefl-{name}", ignore_errors=True)
        ip("link", "delete", "sapefl-switch", check=False)


def write_records(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = ["age,chol,sex,disease"]
    for age, chol in zip(rng.integers(30, 80, 290), rng.integers(120, 400, 290), strict=True):
        lines.append(f"{age},{'' if chol % 9 == 0 else chol},{'fm'[chol % 2]},{'yes' if age > 55 else 'no'}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and iproute2 for namespaces")
def test_the_guide_leads_one_coordinator_and_three_hospitals_through_a_study(machines: dict[str, Machine]) -> None:
    coordinator, custodian = machines["coordinator"], machines["hospital-a"]
    other = {name: (("hospital-a", name),) for name in HOSPITALS}
    # 1. keys
    coordinator.type("secure-sapefl keys site --name coordinator")
    for name in HOSPITALS:
        machines[name].type("secure-sapefl keys site --name hospital-a", changed=other[name])
        for reader in {coordinator, custodian} - {machines[name]}:
            machines[name].send(f"{name}.pub", reader)
    said = custodian.type("secure-sapefl keys cohort --study heart --for")
    (fingerprint,) = re.findall(r"Cohort key fingerprint: (\S+)", said)
    (guides,) = re.findall(r"--fingerprint (\S+)", GUIDE)
    # 2. the study
    coordinator.type("secure-sapefl study new --name heart")
    assert "hospital-b" in coordinator.type("secure-sapefl study show study.toml")
    # 3. the server
    coordinator.type("secure-sapefl server certificates --out tls --host")
    coordinator.type("mkdir nodes")
    without = ((" --relay-user sapefl-relay", ""),)
    processes = {"coordinator": coordinator.start("secure-sapefl server start", changed=without)}
    try:
        # 4. each hospital
        for number, name in enumerate(HOSPITALS):
            site = machines[name]
            write_records(site.folder / "heart.csv", number)
            custodian.send(f"sealed/{name}.sealed", site)
            for file in ("study.toml", "tls/ca.pem"):
                coordinator.send(file, site)
            site.type("secure-sapefl site init", changed=(*other[name], (guides, fingerprint)))
            assert "Conflicts with your policy: none" in site.type("secure-sapefl site review")
            site.type("secure-sapefl site approve")
            processes[name] = site.start("secure-sapefl site start --study", changed=without)
        for name in HOSPITALS:
            key = machines[name].folder / "site.run" / "node.key.pub"
            while not key.exists():
                assert processes[name].poll() is None, (machines[name].folder / "log").read_text()
            machines[name].send("site.run/node.key.pub", coordinator, f"nodes/{name}.pub")
        # 5. while it runs, and after
        for name, process in processes.items():
            assert process.wait(PATIENCE) == 0, (machines[name].folder / "log").read_text()
    finally:
        for process in processes.values():
            process.terminate()
            process.wait()
    said = coordinator.type("secure-sapefl server status")
    assert "10 of 10 rounds closed, over" in said
    for name in HOSPITALS:
        said += machines[name].type("secure-sapefl site status")
        said += machines[name].type("secure-sapefl site ledger")
    print(said)

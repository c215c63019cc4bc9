"""Child processes: kept alive, started as told, and gone when we are gone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from secure_sapefl.errors import OutputFailed
from secure_sapefl.transport.flower import (
    Child,
    FlowerFailed,
    Tls,
    environment,
    relay_command,
    run_once,
    superlink_command,
    write_bundle,
)


def until(what: object) -> None:
    for _ in range(500):
        if what():  # type: ignore[operator]
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


def sleeper(folder: Path) -> Child:
    return Child([sys.executable, "-c", "import time; time.sleep(600)"], folder, folder / "log")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_child_that_was_killed_is_started_again(tmp_path: Path) -> None:
    child = sleeper(tmp_path)
    child.start()
    first = child.pid
    assert first is not None
    assert not child.keep_running()
    os.kill(first, signal.SIGKILL)
    until(child.keep_running)
    assert child.pid != first
    assert child.restarts == 1
    child.stop()
    assert child.pid is None


def test_children_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    code = f"""
import sys, time
from pathlib import Path
from secure_sapefl.transport.flower import Child
folder = Path({str(tmp_path)!r})
child = Child([sys.executable, "-c", "import time; time.sleep(600)"], folder, folder / "log")
child.start()
print(child.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    until(lambda: not alive(pid))


def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match="Is Flower installed"):
        Child(["no-such-program"], tmp_path, tmp_path / "log").start()


def test_a_failing_call_says_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(FlowerFailed, match="sad end"):
        run_once([sys.executable, "-c", "import sys; sys.exit('╭─ sad end ─╮')"], tmp_path)
    assert run_once([sys.executable, "-c", "print('fine')"], tmp_path) == "fine"


def test_flower_is_told_to_stay_offline_and_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPEFL_PASSPHRASE", "a secret of the site")
    variables = environment(tmp_path)
    assert "a secret of the site" not in variables.values()
    assert variables["FLWR_HOME"] == str(tmp_path)
    assert variables["FLWR_TELEMETRY_ENABLED"] == "0"
    assert variables["FLWR_DISABLE_UPDATE_CHECK"] == "1"
    assert variables["PATH"].startswith(str(Path(sys.executable).parent))


def test_tls_is_on_unless_it_was_said_to_be_off(tmp_path: Path) -> None:
    tls = Tls(ca=tmp_path / "ca", certificate=tmp_path / "c", key=tmp_path / "k")
    secured = superlink_command(1, tls, tmp_path / "s")
    assert "--insecure" not in secured
    assert "--enable-supernode-auth" in secured
    assert "--disable-runtime-dependency-installation" in secured
    assert "--insecure" in superlink_command(1, None, tmp_path / "s")
    node = relay_command("h:1", 2, tmp_path / "s", tls, tmp_path / "n")
    assert "--insecure" not in node
    assert str(tmp_path / "n") in node
    assert "--insecure" in relay_command("h:1", 2, tmp_path / "s", None, None)


def test_the_bundle_holds_names_and_no_code(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", tmp_path / "h", "127.0.0.1:1", None)
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["pyproject.toml"]
    assert "insecure = true" in (tmp_path / "h" / "config.toml").read_text()


def test_the_relay_loads_nothing_that_knows_a_key_or_a_model() -> None:
    code = """
import sys
import secure_sapefl.transport.relay_app
heavy = ("torch", "tenseal", "opacus", "secure_sapefl.protocol", "sapefl_crypto.cohort", "secure_sapefl.transport.wire")
sys.exit(str([name for name in heavy if name in sys.modules]) if any(name in sys.modules for name in heavy) else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_serverapp_loads_nothing_that_knows_a_key_a_study_or_the_coordinator() -> None:
    code = """
import sys
import secure_sapefl.transport.server_app
kept = ("torch", "tenseal", "opacus", "secure_sapefl.coordinator", "secure_sapefl.study", "secure_sapefl.protocol",
        "secure_sapefl.transport.wire", "sapefl_crypto.cohort", "sapefl_crypto.keys.identity",
        "sapefl_crypto.keys.keyfile", "sapefl_crypto.keys.signing")
found = [name for name in sys.modules if name.startswith(kept)]
sys.exit(str(found) if found else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_coordinators_process_loads_no_flower_and_nothing_that_knows_the_cohort_key() -> None:
    code = """
import sys
import secure_sapefl.coordinator.runner
kept = ("flwr", "sapefl_crypto.cohort", "sapefl_crypto.secret_ring", "secure_sapefl.protocol.encrypted", "opacus")
found = [name for name in sys.modules if name.startswith(kept)]
sys.exit(str(found) if found else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

"""A wheelhouse installs without a network, notices damage, and is removed without taking anybody's ledger along."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("wheelhouse", ROOT / "scripts" / "wheelhouse.py")
wheelhouse = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wheelhouse)


@pytest.fixture
def carried(tmp_path):
    """A wheelhouse with a very small secure-sapefl in it."""
    folder, name = tmp_path / "wheelhouse", "secure_sapefl-9.9"
    folder.mkdir()
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "def main():\n    print('secure-sapefl 9.9')\n")
        extras = "".join(f"Provides-Extra: {extra}\n" for extra in wheelhouse.EXTRAS.split(","))
        about = f"Metadata-Version: 2.1\nName: secure-sapefl\nVersion: 9.9\n{extras}"
        wheel.writestr(f"{name}.dist-info/METADATA", about)
        wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}.dist-info/entry_points.txt", "[console_scripts]\nsecure-sapefl = tiny:main\n")
        wheel.writestr(f"{name}.dist-info/RECORD", "")
    wheelhouse.finish(folder)
    return folder


def sh(script, *arguments, **environment):
    command = ["sh", str(script), *map(str, arguments)]
    bare = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "HOME": "/nonexistent", **environment}
    return subprocess.run(command, env=bare, capture_output=True, text=True, check=False)


def test_it_is_installed_from_the_folder_alone_and_removed_again(carried, tmp_path):
    target, root = tmp_path / "opt" / "secure-sapefl", tmp_path / "root"
    done = sh(carried / "install.sh", target)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"secure-sapefl 9.9: {target}/bin/secure-sapefl\n"
    again = sh(carried / "install.sh", target)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    unit, home, tools = root / "etc/systemd/system", root / "var/lib/secure-sapefl", tmp_path / "tools"
    for folder in (unit, home, root / "var/lib/secure-sapefl-relay", tools):
        folder.mkdir(parents=True)
    (unit / "secure-sapefl-site.service").touch()
    for tool, text in (("systemctl", f'echo "$@" >> {tmp_path}/asked'), ("id", "exit 1")):
        (tools / tool).write_text(f"#!/bin/sh\n{text}\n")
        (tools / tool).chmod(0o700)
    gone = sh(carried / "uninstall.sh", target, DESTDIR=str(root), PATH=f"{tools}:{os.environ['PATH']}")
    assert gone.returncode == 0, gone.stderr
    assert (tmp_path / "asked").read_text() == "disable --now secure-sapefl-site.service\ndaemon-reload\n"
    assert not target.exists()
    assert not list(unit.iterdir())
    assert not (root / "var/lib/secure-sapefl-relay").exists()
    assert home.is_dir()
    assert f"Left for you to decide: {home}" in gone.stdout
    assert sh(carried / "uninstall.sh", target).returncode == 2


def test_what_was_changed_on_the_way_is_not_installed(carried, tmp_path):
    with next(carried.glob("*.whl")).open("ab") as wheel:
        wheel.write(b"x")
    done = sh(carried / "install.sh", tmp_path / "opt")
    assert done.returncode == 2
    assert "damaged or changed" in done.stderr
    assert not (tmp_path / "opt").exists()


def test_a_folder_with_old_wheels_is_left_alone(carried):
    with pytest.raises(SystemExit, match="holds something already"):
        wheelhouse.main(carried)


def test_only_tested_versions_are_collected(tmp_path):
    command = wheelhouse.wheel_command(tmp_path, ROOT)
    assert command[command.index("--constraint") + 1] == str(ROOT / "constraints.txt")
    assert command[-1].endswith("[deploy,images,tables]")


def test_the_target_and_the_container_get_what_was_collected():
    for file in ("scripts/offline/install.sh", "examples/deployment/containers/Containerfile"):
        assert f"[{wheelhouse.EXTRAS}]" in (ROOT / file).read_text()

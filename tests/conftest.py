"""What every test shares: no test of ours depends on how fast a machine is; and, for pages, a browser and a checker."""

import functools
import gc
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import typer.main
from hypothesis import settings

AXE = "axe-core@4.14.0"

settings.register_profile("unhurried", deadline=None)
settings.load_profile("ci" if "CI" in os.environ else "unhurried")  # "ci" draws the same examples each time

typer.main.get_command = functools.cache(typer.main.get_command)  # a thousand calls of one and the same command


def pytest_collection_finish() -> None:
    """What importing and collecting has left is there to stay: collectors of garbage need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_process_that_nobody_asked_for() -> Iterator[None]:
    """A process that encrypts beside training pays in long runs; in small ones it starts longer than they take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secure_sapefl.engine.protection.worker_count", lambda asked: asked or 0)
        yield


@pytest.fixture(scope="session")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is not installed: no page was opened in a browser")
    return found


@pytest.fixture(scope="session")
def axe(pytestconfig: pytest.Config) -> str:
    """The accessibility checker's source. It is MPL-2.0 and half a megabyte, so it is fetched for the test and not kept
    here."""
    assert pytestconfig.cache is not None
    folder = pytestconfig.cache.mkdir(AXE.replace("@", "-"))
    source = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed: accessibility was not checked with axe-core")
        command = [npm, "install", "--ignore-scripts", "--no-save", "--prefix", str(folder), AXE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{AXE} could not be fetched: accessibility was not checked. {done.stderr.strip()[-200:]}")
    return source.read_text(encoding="utf-8")

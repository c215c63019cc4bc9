"""`server start --live` with a real server and a real browser that stays on its page while rounds close.

Screenshots are left in the test's folder (`--basetemp`), to be looked at.
"""

import base64
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
QUIET = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --remote-debugging-pipe"
CHECK = """axe.run().then((found) => JSON.stringify([
    found.passes.length, found.violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 160))])
]))"""


class Browser:
    """Chromium with one page, driven by its DevTools protocol: JSON on file descriptors 3 and 4, each message ended by
    a zero byte. So nothing listens anywhere, and nothing has to be installed."""

    def __init__(self, program: str, profile: Path) -> None:
        read, to_browser = os.pipe()
        from_browser, write = os.pipe()
        shell = f'exec "$@" 3<&{read} 4>&{write}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", program, *QUIET.split(), f"--user-data-dir={profile}"],
            pass_fds=(read, write),
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._out, self._in = os.fdopen(to_browser, "wb", 0), os.fdopen(from_browser, "rb")
        self._numbers, self._session = count(1), None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def open(self, address: str) -> None:
        self._ask("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """What a script in the page answers, its promise kept."""
        found = self._ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def look(self, *, dark: bool = False, width: int = 1200) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        phone = width < 600
        size = {"width": width, "height": 844, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self._ask("Emulation.setDeviceMetricsOverride", **size)

    def photograph(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._out.close()
        self._in.close()

    def _ask(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        session = {} if self._session is None else {"sessionId": self._session}
        message = {"id": number, "method": method, "params": parameters, **session}
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _message(self) -> bytes:
        found = bytearray()
        while (byte := self._in.read(1)) != b"\0":
            assert byte, "the browser has ended"
            found += byte
        return bytes(found)


@pytest.fixture
def browser(chromium: str, tmp_path: Path) -> Iterator[Browser]:
    one = Browser(chromium, tmp_path / "profile")
    yield one
    one.close()


def address(study: Any, number: int) -> str:
    """Where the server, started for the ``number``-th time, said that its page is."""
    log = study.folder / "server.log"

    def said() -> list[str]:
        return re.findall(r"Live: (http://127\.0\.0\.1:\d+/)", log.read_text())

    study.wait_for(lambda: len(said()) >= number)
    return said()[number - 1]


def sentence(browser: Browser) -> str:
    return str(browser.run("document.getElementById('live')?.textContent ?? ''"))


def complaints(browser: Browser, axe: str) -> Any:
    passes, violations = json.loads(browser.run(f"{axe};\n{CHECK}"))
    assert passes > 20, "the checker hardly looked"
    return violations


def test_a_browser_watches_rounds_close_a_crash_and_the_end(
    small: Callable[..., Any], browser: Browser, axe: str, tmp_path: Path
) -> None:
    study = small(rounds=4, round_deadline=600.0)
    study.start_server("--live")
    browser.open(address(study, 1))
    study.wait_for(lambda: sentence(browser) != "")
    for site in study.file.sites:
        study.start_site(site)
    seen: list[str] = []

    def until(words: str) -> None:
        def there() -> bool:
            now = sentence(browser)
            if now not in seen:
                seen.append(now)
            return words in now

        study.wait_for(there)

    until("Round 1 of 4 is closed.")
    for name, dark, width in (("light", False, 1200), ("dark", True, 1200), ("phone", False, 390)):
        browser.look(dark=dark, width=width)
        browser.photograph(tmp_path / f"{name}.png")
        assert complaints(browser, axe) == []
        assert browser.run("document.documentElement.scrollWidth") <= width
    rows = "[...document.querySelectorAll('tbody th')].map((cell) => cell.textContent)"
    assert browser.run(rows)[: len(study.file.sites)] == list(study.file.sites)

    study.kill("server")
    until("No answer any more")
    browser.photograph(tmp_path / "killed.png")
    study.start_server("--live")
    browser.open(address(study, 2))
    until("The study is over.")
    browser.look()
    browser.photograph(tmp_path / "over.png")
    study.wait_to_finish(*study.file.sites, "server")
    print(seen)
    assert browser.run(rows) == [*study.file.sites, "4", "3", "2", "1"]  # rounds before the crash, too

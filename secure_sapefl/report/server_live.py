"""The live page of a deployed study's server, from the status it publishes: who is in, how far, how many bytes.

It is the frame of a run's report without its numbers. A server that holds no key sees no site's accuracy, and shows
none; where the study sums test results, it shows what the sites say the sum is.
"""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from secure_sapefl.errors import BadInput
from secure_sapefl.plain_text import printable
from secure_sapefl.report.page import LiveStatus, render

Status = Mapping[str, Any]
_RESTLESS = frozenset({"seconds_to_deadline", "seconds_since_heard"})  # change while nothing happens


class ServerSource:
    """``read`` gives the newest status, and raises `BadInput` as long as there is none."""

    def __init__(self, read: Callable[[], Status]) -> None:
        self._read = read

    @property
    def over(self) -> bool:
        status = self._status()
        return status is not None and bool(status["finished"])

    def revision(self) -> str:
        status = self._status()
        if status is None:
            return "nothing"
        digest = sha256(json.dumps(_calm(status)).encode()).hexdigest()[:16]
        return f"{digest}-over" if status["finished"] else digest

    def page(self) -> str:
        revision, status = self.revision(), self._status()
        live = LiveStatus(revision=revision, sentence=_sentence(status), over=revision.endswith("over"))
        title = "Study server" if status is None else f"Study {printable(status['study'])}"
        shown = None if status is None else {"results": None, **status}  # 0.1.0 summed none
        return render("server.html.j2", live, title=title, status=shown, facts=_facts(status) if status else ())

    def _status(self) -> Status | None:
        try:
            return self._read()
        except BadInput:
            return None


def _calm(status: Status) -> dict[str, Any]:
    sites = [{key: value for key, value in site.items() if key not in _RESTLESS} for site in status["sites"]]
    return {key: value for key, value in status.items() if key not in _RESTLESS} | {"sites": sites}


def _sentence(status: Status | None) -> str:
    if status is None:
        return "Waiting for the server."
    if status["finished"]:
        return "The study is over."
    return f"Round {status['closed']} of {status['rounds']} is closed."


def _facts(status: Status) -> tuple[tuple[str, str], ...]:
    online = sum(bool(site["online"]) for site in status["sites"])
    return (
        ("Rounds closed", f"{status['closed']} of {status['rounds']}"),
        ("Sites online", f"{online} of {len(status['sites'])}"),
        ("Waiting for", printable(", ".join(status["waiting_for"]) or "nobody")),
        ("Study file", printable(status["digest"][:16])),
        ("Strangers that tried to connect", str(status["foreign_nodes"])),
    )

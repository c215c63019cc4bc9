"""A bar under the cell of a notebook while a simulation runs in it; elsewhere there is none."""

import sys
from html import escape
from typing import Any, Protocol

from secure_sapefl.engine.events import Observer, RoundClosed, RunBegun, RunEnded, RunEvent
from secure_sapefl.engine.observers.news import news_of, remarks_on


class Shown(Protocol):
    """What IPython gives back for something it shows under a name."""

    def update(self, shown: object) -> None: ...


class NotebookProgress:
    def __init__(self) -> None:
        self._shown: Shown | None = None
        self._rounds, self._done, self._news = 0, 0, "starting"
        self._remarks: list[str] = []

    def __call__(self, event: RunEvent) -> None:
        match event:
            case RunBegun(config=config, so_far=so_far, plan=plan):
                self._rounds, self._done = config.rounds, len(so_far.rounds)
                self._remarks += [f"plan: {sentence}" for sentence in plan]
            case RoundClosed(record=record):
                self._done, self._news = record.round_index + 1, news_of(record)
                self._remarks += remarks_on(record)
            case RunEnded():
                pass
            case _:
                return
        self._show()

    def _show(self) -> None:
        from IPython.display import HTML, display

        if self._shown is None:
            self._shown = display(HTML(self.to_html()), display_id=True)
        else:
            self._shown.update(HTML(self.to_html()))

    def to_html(self) -> str:
        remarks = "".join(f"<br>{escape(remark)}" for remark in self._remarks)
        return (
            f'<div><progress aria-label="rounds" max="{self._rounds}" value="{self._done}"></progress> '
            f"round {self._done}/{self._rounds}  {escape(self._news)}{remarks}</div>"
        )


def in_a_notebook() -> tuple[Observer, ...]:
    """A bar where the code runs in a notebook's kernel. Nothing is imported to find out."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return (NotebookProgress(),) if hasattr(shell, "kernel") else ()

"""Structured logs: one line an event, naming round and site. No record, key, model or score is ever given to them."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

_NAMES: Final = ("site", "round", "node", "answer", "cohort", "contributors", "waiting", "program", "code")
_ROOT: Final = "secure_sapefl"


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    found = {name: getattr(record, name, None) for name in _NAMES}
    return {name: value for name, value in found.items() if value is not None}


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps(
            {"time": time, "level": record.levelname.lower(), "event": record.getMessage()} | _facts(record)
        )


class Sentences(logging.Formatter):
    """For a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        facts = " ".join(f"{name}={value}" for name, value in _facts(record).items())
        return f"{time} {record.getMessage()}" + (f" ({facts})" if facts else "")


@contextmanager
def log_to(file: Path) -> Iterator[None]:
    """JSON lines into a file, as long as the context lasts."""
    with _handled(logging.FileHandler(file, encoding="utf-8"), JsonLines()):
        yield


@contextmanager
def log_to_terminal(*, json_lines: bool) -> Iterator[None]:
    with _handled(logging.StreamHandler(), JsonLines() if json_lines else Sentences()):
        yield


@contextmanager
def _handled(handler: logging.Handler, formatter: logging.Formatter) -> Iterator[None]:
    handler.setFormatter(formatter)
    logger = logging.getLogger(_ROOT)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # some library may have told the root logger to print everything
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()

"""Structured logs: one line an event, naming round and site. No record, key, model or score is ever given to them."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

from secure_sapefl.plain_text import printable, sentence
from secure_sapefl.storage.rotation import LARGEST_LOG, OLD_LOGS

_NAMES: Final = ("site", "round", "node", "answer", "cohort", "contributors", "waiting", "program", "code")
_ROOT: Final = "secure_sapefl"
_LONGEST_EVENT: Final = 2000


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    found = {name: getattr(record, name, None) for name in _NAMES}
    return {name: value for name, value in found.items() if value is not None}


def _event(record: logging.LogRecord) -> str:
    """An event is one line, whoever's words it repeats."""
    return sentence(record.getMessage(), _LONGEST_EVENT)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, "level": record.levelname.lower(), "event": _event(record)} | _facts(record))


class Sentences(logging.Formatter):
    """For a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        facts = printable(" ".join(f"{name}={value}" for name, value in _facts(record).items()))
        return f"{time} {_event(record)}" + (f" ({facts})" if facts else "")


@contextmanager
def log_to(file: Path) -> Iterator[None]:
    """JSON lines into a file, as long as the context lasts. A file that is full becomes FILE.1, and so on to FILE.5."""
    handler = RotatingFileHandler(file, maxBytes=LARGEST_LOG, backupCount=OLD_LOGS, encoding="utf-8")
    with _handled(handler, JsonLines()):
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

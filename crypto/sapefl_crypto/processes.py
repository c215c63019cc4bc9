"""How worker processes begin and end, for everybody who starts some: they may hold a key, and must not outlive us."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from threading import Thread
from types import ModuleType


def end_with_parent() -> None:
    """To be called first in a worker. A killed parent cannot shut its pool down, and the pool's pipe stays open, since
    the workers hold both of its ends; so each of them watches the parent itself."""
    Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def without_main() -> Iterator[None]:
    """While a pool may start a process. A spawned process imports the script that started it, and a script without the
    usual `if __name__` guard would begin its work again in every worker. Workers need nothing from it, so they are not
    told where it is."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main

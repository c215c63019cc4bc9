"""Code that a study brings along: a function or object of a file or of an installed module, and its source's digest.

`FILE.py:NAME` is one file, run once, and `FILE.py` what such files usually define (`USUAL`); `package.module:NAME` is
imported. The digest enters the run's identity, so that a run does not go on with code it was not begun with. Nothing
here is safe from the code itself: it is the user's own.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, Literal, NoReturn

from secure_sapefl.errors import BadInput

Kind = Literal["method", "dataset", "model", "task"]
USUAL: Final[Mapping[Kind, str]] = MappingProxyType(
    {"method": "ALGORITHM", "dataset": "SPEC", "model": "build", "task": "TASK"}
)
_MODULES: Final[set[str]] = set()  # that such code was taken from, by their names


@dataclass(frozen=True, slots=True)
class OwnCode:
    """``name`` says where it is from, as `load` reads it."""

    name: str
    value: Any
    digest: str


def names_own_code(name: str) -> bool:
    """Whether a name is of this kind, and not one that is registered."""
    return ":" in name or name.endswith(".py")


def short(name: str) -> str:
    """``mine`` of ``methods/mine.py:ALGORITHM``, for titles and names of files."""
    return Path(name.partition(":")[0]).name.removesuffix(".py")


def parted(name: str, what: Kind) -> tuple[str, str]:
    """File or module, and what of it: the usual name where a file stands alone."""
    place, _, attribute = (f"{name}:{USUAL[what]}" if name.endswith(".py") else name).rpartition(":")
    return place, attribute


def load(name: str, what: Kind) -> OwnCode:
    place, attribute = parted(name, what)
    if not place or not attribute:
        raise BadInput(f"The {what} {name!r} is not FILE.py:NAME or package.module:NAME.")
    module, digest = _from_file(Path(place), what) if place.endswith(".py") else _imported(place, what)
    _MODULES.add(module.__name__)
    if not hasattr(module, attribute):
        raise BadInput(f"The {what} {name!r}: {place} has no {attribute!r}. It defines: {_defined(module)}.")
    return OwnCode(name, getattr(module, attribute), digest)


def own_function(function: Callable[..., Any]) -> OwnCode:
    """A function that was passed as it is; found again by its name only where its module can be imported."""
    name = f"{function.__module__}:{getattr(function, '__qualname__', type(function).__name__)}"
    return OwnCode(name, function, _digest(_source(inspect.getmodule(function)) or _source(function)))


def _source(thing: Any) -> str:
    """The text that defines it; nothing where there is none, as for a function typed into an interpreter."""
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:32]


def blamed(error: BaseException) -> str | None:
    """The line of such code that an error comes from, or that made the call which ended in it; None if there is none.

    In Python the error itself is more use to whoever wrote that code; this is for the command line."""
    calls = [call for call in traceback.walk_tb(error.__traceback__) if call[0].f_globals.get("__name__") in _MODULES]
    if not calls:
        return None
    (frame, line), words = calls[-1], f"{type(error).__name__}: {error}".removesuffix(".")
    where = f"{frame.f_code.co_filename}, line {line}, in {frame.f_code.co_name}"
    return f"{where}: {words}. That is code of your own: mend it there."


class _AsRead(SourceFileLoader):
    """Runs the text whose digest was taken. A cache of bytecode may hold an older one of the same second and size."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        super().__init__(name, str(path))
        self._source = source.encode()

    def get_data(self, path: str) -> bytes:  # noqa: ARG002 - as importlib calls it
        return self._source

    def path_stats(self, path: str) -> NoReturn:
        raise OSError(f"{path} is not cached")


def _from_file(path: Path, what: str) -> tuple[ModuleType, str]:
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The {what}: cannot read {path} ({getattr(error, 'strerror', None) or error}).") from None
    digest = _digest(source)
    name = f"secure_sapefl_own_{path.stem}_{digest}"
    if name not in sys.modules:
        loader = _AsRead(name, path, source)
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        assert spec is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)  # dataclasses look their module up
        try:
            loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            raise BadInput(f"The {what}: {path} cannot be run ({type(error).__name__}: {error}).") from error
    return sys.modules[name], digest


def _imported(place: str, what: str) -> tuple[ModuleType, str]:
    try:
        module = importlib.import_module(place)
    except Exception as error:
        raise BadInput(f"The {what}: {place} cannot be imported ({type(error).__name__}: {error}).") from error
    return module, _digest(_source(module))


def _defined(module: ModuleType) -> str:
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return ", ".join(name for name in own if not name.startswith("_")) or "nothing"

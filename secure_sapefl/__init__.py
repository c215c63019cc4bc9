"""SAPE-FL: similarity-aware personalized federated learning, encrypted and private.

from secure_sapefl import Config, simulate
result = simulate(Config(dataset="synthetic", method="sapefl", clients=20, rounds=10))
result.accuracy.mean
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secure_sapefl.config import Config
    from secure_sapefl.engine.events import (
        AggregateOpened,
        MessageSent,
        Observer,
        RoundBegun,
        RoundClosed,
        RunBegun,
        RunEnded,
        RunEvent,
        SitesTrained,
        TrainingEnded,
    )
    from secure_sapefl.engine.observers.csv_log import CsvLog
    from secure_sapefl.engine.observers.tensorboard import TensorBoardLog
    from secure_sapefl.engine.simulator import resume, simulate

__version__ = "0.2.0"
__all__ = [
    "AggregateOpened",
    "Config",
    "CsvLog",
    "MessageSent",
    "Observer",
    "RoundBegun",
    "RoundClosed",
    "RunBegun",
    "RunEnded",
    "RunEvent",
    "SitesTrained",
    "TensorBoardLog",
    "TrainingEnded",
    "__version__",
    "resume",
    "simulate",
]

_HOMES = {
    "Config": "secure_sapefl.config",
    "CsvLog": "secure_sapefl.engine.observers.csv_log",
    "TensorBoardLog": "secure_sapefl.engine.observers.tensorboard",
    "resume": "secure_sapefl.engine.simulator",
    "simulate": "secure_sapefl.engine.simulator",
}


def __getattr__(name: str) -> Any:
    """Import torch only when somebody asks for what needs it, so that `--help` stays instant."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "secure_sapefl.engine.events")), name)

"""Cells over a Ray cluster, which is installed apart: `pip install 'secure-sapefl[ray]'`. Each cell is a task.

Every machine has this package and the data; a cell that finds another version, other code or other rows there says so.
A cell that fails, or whose machine is lost, is tried again, wherever there is room, while the others go on.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from secure_sapefl.errors import BadInput, SapeflError
from secure_sapefl.experiments.executors.base import Work

T = TypeVar("T")

ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class RayCluster:
    ray: Any  # the module, connected
    tell: Callable[[str], None]  # of cells that are tried again

    def computed(self, compute: Callable[[Work], T], work: Sequence[Work]) -> Iterator[tuple[Work, T]]:
        waiting = deque((one, 1) for one in work)
        running: dict[Any, tuple[Work, int]] = {}
        lost = []
        while waiting or running:
            while waiting and len(running) < self._room():
                one, attempt = waiting.popleft()
                running[self._begun(compute, one)] = one, attempt
            (finished,), _ = self.ray.wait([*running], num_returns=1)
            one, attempt = running.pop(finished)
            try:
                result: T = self.ray.get(finished)
            except self.ray.exceptions.RayError as error:
                failure = f"{one.cell}: {_reason(error)}"
                self.tell(f"Attempt {attempt} of {ATTEMPTS} failed. {failure}")
                if attempt < ATTEMPTS:
                    waiting.append((one, attempt + 1))
                else:
                    lost.append(failure)
            else:
                yield one, result
        if lost:
            raise SapeflError(
                f"{len(lost)} of {len(work)} cells failed {ATTEMPTS} times each:\n" + "\n".join(lost) + "\n"
                "Finished cells are kept: give the same command again when this is mended."
            )

    def _room(self) -> int:
        """Twice what runs at a time, so that no core waits; looked up anew, since machines come and go."""
        return 2 * max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def _begun(self, compute: Callable[[Work], T], work: Work) -> Any:
        """A core each, and a card where the cell asks for one. Attempts are counted here, where they can be told."""
        cards = int(work.cell.config.device.startswith("cuda"))
        task = self.ray.remote(num_cpus=1, num_gpus=cards, max_retries=0)(on_a_machine)
        return task.remote(compute, work, Path.cwd())


def on_a_machine(compute: Callable[[Work], T], work: Work, folder: Path) -> T:
    """In the folder of the same name, where paths mean what they meant."""
    if not folder.is_dir():
        raise BadInput(f"the machine has no folder {folder}, in which the command was given. Make it there.")
    with chdir(folder):
        if replace(work.cell).digest != work.cell.digest:
            raise BadInput("the machine has another version of secure-sapefl, or other code of your own.")
        return compute(work)


def _reason(error: Exception) -> str:
    """What a task raised, or what became of its machine; the first line of what Ray says of it."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, SapeflError):
        return str(cause)
    return f"{type(cause or error).__name__}: {str(cause or error).strip().splitlines()[0]}"


@contextmanager
def ray_cluster(address: str, tell: Callable[[str], None]) -> Iterator[RayCluster]:
    """Connected to the cluster at ``address`` for as long as this lasts; what still runs there then is ended."""
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise BadInput("Ray is not installed: pip install 'secure-sapefl[ray]'.") from None
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise BadInput(
            f"No Ray cluster answers at {address!r} ({_reason(error)}). Begin one with `ray start --head`, "
            "and give the command on a machine that is part of it."
        ) from None
    try:
        yield RayCluster(ray, tell)
    finally:
        ray.shutdown()

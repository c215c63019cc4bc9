"""A trainer in the test's own process, behind the same bytes as a real one, and the honest model it is to build."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from secure_sapefl.data.federation import ClientData
from secure_sapefl.site.trainer.carried import CarriedTraining
from secure_sapefl.site.trainer.confinement import NEEDED
from secure_sapefl.site.trainer.messages import Message, read_message
from secure_sapefl.site.trainer.served import Served
from secure_sapefl.study.terms import StudyTerms

Change = Callable[[dict[str, Tensor]], None]
as_it_is: Change = lambda _: None  # noqa: E731 - a change that is none


@dataclass
class Here:
    """A trainer in this process, through the same bytes; ``change`` is what a hostile one would do to its answers."""

    change: Change = as_it_is
    held: tuple[str, ...] = NEEDED
    pid: int = 1
    served: Served | None = None
    closed: bool = False
    seconds: list[float] = field(default_factory=list)

    def ask(self, message: Message, *, seconds: float, largest: int = 2**31) -> Message:
        self.seconds.append(seconds)
        if self.served is None:
            self.served = Served.begun(_through(message, 2**31))
            return _through(self.served.initial(), largest)
        answer = self.served.answer(_through(message, 2**31))
        tensors = dict(answer.tensors)
        self.change(tensors)
        return _through(Message(answer.words, tensors), 2**31)

    def close(self) -> None:
        self.closed = True


def _through(message: Message, largest: int) -> Message:
    content, place = message.to_bytes(), 0

    def exactly(count: int) -> bytes:
        nonlocal place
        place += count
        return content[place - count : place]

    return read_message(exactly, largest)


def trained_here(terms: StudyTerms, rows: ClientData, privacy: object = None) -> CarriedTraining:
    """As `World.training` takes it."""
    assert privacy is None, "carried code has no budget"
    return CarriedTraining(terms, rows, Here)  # type: ignore[arg-type]


def build(about: Any) -> nn.Module:
    """What `tests.carried_code.HONEST` builds, for the simulator."""
    return nn.Sequential(nn.Linear(about.shape[0], 6), nn.Tanh(), nn.Linear(6, about.outputs))

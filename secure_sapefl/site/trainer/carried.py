"""Training with a model whose code the study carries: each question goes to the trainer's process, each answer is held
against what the study's file declares before anything is made of it.

A process that was late, ended or gave something else is gone; the next question starts another. What carried code says
of itself may hold records, so it goes to the site's log and never into a message.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.algorithms.base import Contribution, Homomorphic
from secure_sapefl.data.federation import ClientData
from secure_sapefl.engine.export import StateOnly
from secure_sapefl.metrics import Array
from secure_sapefl.plain_text import printable
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.site.trainer.confinement import MEANS
from secure_sapefl.site.trainer.messages import Message, size_of
from secure_sapefl.site.trainer.process import TrainerFailed, TrainerProcess
from secure_sapefl.site.trainer.questions import STATE, contribution, request
from secure_sapefl.site.trainer.training import Asked
from secure_sapefl.storage.parts import LARGEST
from secure_sapefl.study.terms import StudyTerms

_log = logging.getLogger(__name__)
_LARGEST_WEIGHT: Final = 1e3  # as peers judge a model (protocol/site.py)
_LONGEST_DESCRIPTION: Final = 20_000

Start = Callable[[], TrainerProcess]


class CarriedTraining:
    """``start`` makes a process that is confined as the owner's policy asks (`starting.py`)."""

    def __init__(self, terms: StudyTerms, rows: ClientData, start: Start) -> None:
        self._terms, self._rows, self._start = terms, rows, start
        self._process: TrainerProcess | None = None
        self.site: SiteId = rows.name
        self._theta: Tensor | None = None
        self._held: tuple[str, ...] = ()

    @property
    def held(self) -> tuple[str, ...]:
        """What keeps the code in, as it was tried when its process began."""
        return self._held

    @property
    def theta_initial(self) -> Tensor:
        if self._theta is None:
            self._begin()
        assert self._theta is not None
        return self._theta

    def contribution(self, asked: Asked) -> Contribution:
        answer = self._ask(request("round", asked), self._expected(asked))
        score, top = answer.get("score"), self._terms.blueprint.study.max_score
        if score is not None and bool(((score < 0) | (score > top)).any()):  # NaN is for the protocol to see
            raise self._failed(f"a score is outside 0 to {top:g}")
        for name in ("update", "shared"):
            if name in answer and bool((answer[name].abs() > _LARGEST_WEIGHT).any()):
                raise self._failed(f"a weight of the {name} is beyond ±{_LARGEST_WEIGHT:g}")
        return contribution(answer)

    def at_home(self, asked: Asked) -> Contribution:
        return self.contribution(asked)

    def personal_model(self, asked: Asked) -> Tensor:
        return self._ask(request("personal", asked), {"theta": _floats(self._parameters)})["theta"]

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        expected = {"outputs": _floats(len(x), self._terms.blueprint.model.classes)}
        found = self._ask(Message({"do": "outputs"}, {"theta": theta, "x": x}), expected)["outputs"]
        if not torch.isfinite(found).all():
            raise self._failed("the model answers with NaN or infinity")
        return found

    def on_test_rows(self, theta: Tensor) -> tuple[Array, Array]:
        test, labels = self._rows.test, self._terms.file.data.label_is
        outputs = self.outputs(theta, torch.from_numpy(test.X)).numpy()
        return labels.in_units(outputs), labels.in_units(test.y)

    def module(self, theta: Tensor) -> StateOnly:
        answer = self._answer(Message({"do": "module"}, {"theta": theta}), LARGEST)
        words = str(answer.words.get("module", ""))[:_LONGEST_DESCRIPTION]
        return StateOnly(answer.tensors, "\n".join(map(printable, words.splitlines())))

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    @property
    def _parameters(self) -> int:
        return self._terms.blueprint.model.parameters

    def _expected(self, asked: Asked) -> dict[str, Tensor]:
        blueprint = self._terms.blueprint
        kept = {f"{STATE}{name}": value for name, value in asked.own.items()}
        shared = {"shared": _floats(1, self._parameters)} if blueprint.algorithm.relays_models else {}
        if blueprint.algorithm.homomorphic is not Homomorphic.WEIGHTED_SUM:
            return {**shared, **kept}
        return {"update": _floats(1, blueprint.study.parameters), "score": _floats(1), **shared, **kept}

    def _ask(self, message: Message, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self._checked(self._answer(message, size_of(expected)), expected)

    def _checked(self, answer: Message, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
        try:
            return answer.like(expected)
        except FrameRejected as error:
            raise self._failed(str(error)) from None

    def _failed(self, what: str) -> TrainerFailed:
        """A process that gave what nobody asked for is asked nothing more."""
        self.close()
        return TrainerFailed(f"Carried code: {what}.")

    def _answer(self, message: Message, largest: int) -> Message:
        process = self._process or self._begin()
        try:
            return process.ask(message, seconds=self._terms.file.round_deadline, largest=largest)
        except TrainerFailed:
            self.close()
            raise

    def _begin(self) -> TrainerProcess:
        """A process that has the rows and has built the model."""
        self._process = process = self._start()
        self._held = process.held
        holds = "; ".join(MEANS[name] for name in process.held if name in MEANS)
        _log.info("carried code runs in process %d: %s", process.pid, holds or "nothing keeps it in")
        words = {"study": self._terms.file.model_dump(mode="json"), "site": self.site}
        rows = {"X": torch.from_numpy(self._rows.train.X), "y": torch.from_numpy(self._rows.train.y)}
        begin = Message({**words, "threads": torch.get_num_threads()}, rows)
        expected = {"theta": _floats(self._parameters)}
        theta = self._checked(self._answer(begin, size_of(expected)), expected)["theta"]
        if not torch.isfinite(theta).all() or theta.abs().max() > _LARGEST_WEIGHT:
            raise self._failed("the weights to start from are not finite, or too large")
        self._theta = theta if self._theta is None else self._theta
        return process


def _floats(*shape: int) -> Tensor:
    return torch.empty(shape, device="meta")

"""What the server of a study adds with: made from public values alone, for each round anew."""

from sapefl_crypto import Aggregate, Aggregator, HiddenAggregator, Parameters
from sapefl_crypto.exact_plan import ExactPlan
from secure_sapefl.protocol.codec import Adder
from secure_sapefl.protocol.plaintext import PlaintextAdder, PlaintextHiddenAdder
from secure_sapefl.protocol.study import Study


class HiddenAdder:
    """`HiddenAggregator` as an `Adder`. There is no score to weigh by."""

    def __init__(self, params: Parameters, *, study: str, round_index: int, length: int) -> None:
        self._sum = HiddenAggregator(params, study=study, round_index=round_index, length=length)

    @property
    def weights(self) -> dict[str, int]:
        return self._sum.weights

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None:  # noqa: ARG002 - it has none
        self._sum.add(frame, sender=sender)

    def finish(self) -> Aggregate:
        return self._sum.finish()


def encrypted_adder(params: Parameters, study: Study, round_index: int) -> Adder:
    name, length = study.name, study.parameters
    match study.scores:
        case "open":
            return Aggregator(params, study=name, round_index=round_index, length=length, max_score=study.max_score)
        case "hidden":
            return HiddenAdder(params, study=name, round_index=round_index, length=length)


def plaintext_adder(params: ExactPlan, study: Study, round_index: int) -> Adder:
    name, length = study.name, study.parameters
    match study.scores:
        case "open":
            return PlaintextAdder(params, study=name, round_index=round_index, length=length, max_score=study.max_score)
        case "hidden":
            return PlaintextHiddenAdder(params, study=name, round_index=round_index, length=length)

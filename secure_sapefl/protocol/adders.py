"""What the server of a study adds with: made from public values alone, for each round anew."""

from sapefl_crypto import Aggregator, HiddenAggregator, Parameters
from sapefl_crypto.exact_plan import ExactPlan
from secure_sapefl.protocol.codec import Adder
from secure_sapefl.protocol.plaintext import PlaintextAdder, PlaintextHiddenAdder
from secure_sapefl.protocol.study import Study


def encrypted_adder(params: Parameters, study: Study, round_index: int) -> Adder:
    name, length = study.name, study.parameters
    match study.scores:
        case "open":
            return Aggregator(params, study=name, round_index=round_index, length=length, max_score=study.max_score)
        case "hidden":
            return HiddenAggregator(params, study=name, round_index=round_index, length=length)


def plaintext_adder(params: ExactPlan, study: Study, round_index: int) -> Adder:
    name, length = study.name, study.parameters
    match study.scores:
        case "open":
            return PlaintextAdder(params, study=name, round_index=round_index, length=length, max_score=study.max_score)
        case "hidden":
            return PlaintextHiddenAdder(params, study=name, round_index=round_index, length=length)

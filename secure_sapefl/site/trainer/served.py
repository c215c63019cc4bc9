"""What a trainer's process does when it is asked: the site's training half, with the model that carried code builds.

The method's own code is ours, as everywhere. This file runs beside carried code, so nothing it says is believed.
"""

from dataclasses import dataclass

import torch

from secure_sapefl.data.federation import ClientData, Rows
from secure_sapefl.errors import BadInput
from secure_sapefl.site.trainer.messages import Message
from secure_sapefl.site.trainer.questions import answered, asked_of
from secure_sapefl.site.trainer.training import OwnProcess
from secure_sapefl.study.built import with_code
from secure_sapefl.study.file import StudyFile


@dataclass(frozen=True, slots=True)
class Served:
    training: OwnProcess

    @classmethod
    def begun(cls, asked: Message) -> "Served":
        """Carried code is run here for the first time: its file, and the function that builds the model."""
        torch.set_num_threads(int(asked.words["threads"]))
        terms = with_code(StudyFile.read(asked.words["study"], "the study"))
        train = Rows(asked.tensors["X"].numpy(), asked.tensors["y"].numpy())
        nothing = Rows(train.X[:0], train.y[:0])
        return cls(OwnProcess(terms, ClientData(name=asked.words["site"], train=train, test=nothing)))

    def initial(self) -> Message:
        return Message({}, {"theta": self.training.theta_initial})

    def answer(self, asked: Message) -> Message:
        match asked.words["do"]:
            case "round":
                return answered(self.training.contribution(asked_of(asked)))
            case "personal":
                return Message({}, {"theta": self.training.personal_model(asked_of(asked))})
            case "outputs":
                return Message({}, {"outputs": self.training.outputs(asked.tensors["theta"], asked.tensors["x"])})
            case "module":
                module = self.training.module(asked.tensors["theta"])
                return Message({"module": str(module)}, module.state_dict())
            case other:
                raise BadInput(f"A trainer is not asked for {other!r}.")

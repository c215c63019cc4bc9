"""A round as messages: what the agent asks its trainer, and what the trainer answers. Both ends read and write here."""

from collections.abc import Mapping

from torch import Tensor

from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.site.trainer.messages import Message
from secure_sapefl.site.trainer.training import Asked

STATE = "state "
"""Before the name of what a site keeps between rounds."""


def request(do: str, asked: Asked) -> Message:
    """``asked`` as a message; `asked_of` reads it."""
    peers = {"peers": asked.peers.models, "received": asked.peers.received}
    kept = {f"{STATE}{name}": tensor for name, tensor in asked.own.items()}
    return Message({"do": do, "round": asked.round_index}, {"theta": asked.theta_global, **peers, **kept})


def asked_of(message: Message) -> Asked:
    tensors = message.tensors
    return Asked(
        round_index=int(message.words["round"]),
        theta_global=tensors["theta"],
        own=_kept(tensors),
        peers=Peers(tensors["peers"], tensors["received"]),
    )


def answered(made: Contribution) -> Message:
    parts = {"update": made.update, "score": made.score, "shared": made.shared}
    kept = {f"{STATE}{name}": tensor for name, tensor in made.state.items()}
    return Message({}, {**{name: part for name, part in parts.items() if part is not None}, **kept})


def contribution(tensors: Mapping[str, Tensor]) -> Contribution:
    """What `answered` wrote."""
    get = tensors.get
    return Contribution(state=_kept(tensors), update=get("update"), score=get("score"), shared=get("shared"))


def _kept(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(STATE): value for name, value in tensors.items() if name.startswith(STATE)}

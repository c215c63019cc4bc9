"""What do hostile sites do to a method? Some sites train on flipped labels, or send their update with the sign turned.

Numbers are of the honest sites: their own models, and the global model on their rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from secure_sapefl.config import Config
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.simulator import Simulation, Tamper, federation_of
from secure_sapefl.metrics import Spread
from secure_sapefl.protocol.answer import Answer

Attack = Literal["none", "label-flip", "sign-flip", "sign-flip, top score"]
ATTACKS: tuple[Attack, ...] = get_args(Attack)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustnessRow:
    method: str
    attack: Attack
    seed: int
    personal: float
    everywhere: float
    hostile_share: float  # of the weight in the global step, last round; a head count would give `attackers`


def attackers_of(federation: Federation, share: float, seed: int) -> frozenset[str]:
    """The hostile sites: ``share`` of all, at least one, the same for every method."""
    count = max(1, round(share * len(federation.clients)))
    chosen = np.random.default_rng(seed).choice(len(federation.clients), count, replace=False)
    return frozenset(federation.clients[int(c)].name for c in chosen)


def robustness(
    config: Config, methods: Sequence[str], seeds: int, share: float, tell: Callable[[str], None]
) -> Iterator[RobustnessRow]:
    for seed in range(config.seed, config.seed + seeds):
        federation = federation_of(config.model_copy(update={"seed": seed}))
        hostile = attackers_of(federation, share, seed)
        for attack in ATTACKS:
            for method in methods:
                tell(f"seed {seed}, {attack}, {method}: {len(hostile)} of {len(federation.clients)} sites hostile")
                chosen = config.model_copy(update={"seed": seed, "method": method})
                yield _run(chosen, federation, hostile, attack)


def _run(config: Config, federation: Federation, hostile: frozenset[str], attack: Attack) -> RobustnessRow:
    attacked = flip_labels(federation, hostile) if attack == "label-flip" else federation
    result = Simulation(config, attacked, tamper_for(attack, hostile)).run()
    honest = [c for c, client in enumerate(federation.clients) if client.name not in hostile]
    weights = dict(result.rounds[-1].weights)
    total = sum(weights.values())
    return RobustnessRow(
        method=config.method,
        attack=attack,
        seed=config.seed,
        personal=_mean(result.accuracy, honest),
        everywhere=_mean(result.global_accuracy, honest),
        hostile_share=sum(w for site, w in weights.items() if site in hostile) / total if total else 0.0,
    )


def flip_labels(federation: Federation, hostile: frozenset[str]) -> Federation:
    """y -> K - 1 - y in the training rows of hostile sites."""

    def poisoned(client: ClientData) -> ClientData:
        return replace(client, train=Rows(client.train.X, federation.classes - 1 - client.train.y))

    clients = tuple(poisoned(c) if c.name in hostile else c for c in federation.clients)
    return replace(federation, clients=clients)


def tamper_for(attack: Attack, hostile: frozenset[str]) -> Tamper | None:
    """What hostile sites do to their answer before they send it; the second kind also lies about its score."""
    if not attack.startswith("sign-flip"):
        return None

    def tamper(answer: Answer, max_score: float) -> Answer:
        if answer.site not in hostile or answer.update is None:
            return answer
        score = max_score if attack.endswith("top score") else answer.similarity_score
        return replace(answer, update=-answer.update, similarity_score=score)

    return tamper


def _mean(spread: Spread, sites: Sequence[int]) -> float:
    return Spread(tuple(spread.per_client[c] for c in sites)).mean

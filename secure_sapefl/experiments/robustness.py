"""What do hostile sites do to a method? Some sites train on flipped labels, or send their update with the sign turned.

Numbers are of the honest sites: their own models, and the global model on their rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from sapefl_crypto.exact_plan import ExactPlan
from secure_sapefl.config import Config
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.assembly import Assembly, assemble, federation_of
from secure_sapefl.engine.protection import Protection
from secure_sapefl.engine.rounds import Rounds
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.engine.workers import InlineProtector, Protector
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import Spread
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.server import AdderFactory, Models
from secure_sapefl.protocol.study import Study

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
        if federation.labels.kind != "class":
            raise BadInput("Hostile sites turn classes into others, and accuracy is compared: choose a classification.")
        hostile = attackers_of(federation, share, seed)
        for attack in ATTACKS:
            for method in methods:
                tell(f"seed {seed}, {attack}, {method}: {len(hostile)} of {len(federation.clients)} sites hostile")
                chosen = config.model_copy(update={"seed": seed, "method": method})
                yield _run(chosen, federation, hostile, attack)


def _run(config: Config, federation: Federation, hostile: frozenset[str], attack: Attack) -> RobustnessRow:
    attacked = flip_labels(federation, hostile) if attack == "label-flip" else federation
    assembly = assemble(config, attacked)
    result = Simulation(assembly, protection_under(attack, hostile, assembly)).run()
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


def protection_under(attack: Attack, hostile: frozenset[str], assembly: Assembly) -> Protection:
    """The study's own protection, through which hostile sites send something else than they trained."""
    honest = assembly.protection()
    if not attack.startswith("sign-flip"):
        return honest
    top = assembly.blueprint.study.max_score if attack.endswith("top score") else None
    return HostileProtection(honest, lambda answer: turned(answer, top) if answer.site in hostile else answer)


def turned(answer: Answer, score: float | None) -> Answer:
    """The update with its sign flipped, under the site's own score or a better one."""
    if answer.update is None:
        return answer
    return replace(answer, update=-answer.update, similarity_score=answer.similarity_score if score is None else score)


@dataclass(frozen=True, slots=True)
class HostileProtection:
    """An honest protection of what sites say instead of their answers."""

    honest: Protection
    said: Callable[[Answer], Answer]

    @property
    def params(self) -> ExactPlan:
        return self.honest.params

    def codec(self) -> SiteCodec:
        return self.honest.codec()

    def adders(self, study: Study) -> AdderFactory:
        return self.honest.adders(study)

    def rounds(self, study: Study, models: Models) -> Rounds:
        return self.honest.rounds(study, models)

    def protect(self, answer: Answer, study: Study, round_index: int) -> RoundUpload:
        return self.honest.protect(self.said(answer), study, round_index)

    def protector(self) -> Protector:
        return InlineProtector(self.protect)


def _mean(spread: Spread, sites: Sequence[int]) -> float:
    return Spread(tuple(spread.per_client[c] for c in sites)).mean

"""What all sites of a study with shared noise agree on, and what a round costs each of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from secure_sapefl.algorithms.releases import Releases
from secure_sapefl.privacy.accounting import Composition
from secure_sapefl.privacy.adjacency import adjacency
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Paid, Store
from secure_sapefl.privacy.paying import PayingSite
from secure_sapefl.privacy.randomness import (
    GeneratorName,
    KeyedRandomness,
    Randomness,
    RandomnessFor,
    SystemRandomness,
)
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.ledger import SharedLedger
from secure_sapefl.privacy.shared.mechanism import SharedGroup
from secure_sapefl.privacy.shared.plan import SharedPlan
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.streams import Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTerms:
    study: str
    plan: SharedPlan
    releases: Releases
    secure_noise: bool
    carriage: Carriage | None  # None where spending is only counted again, and nothing can be sent

    @property
    def budget(self) -> Budget:
        """Of opened sums."""
        return self.plan.budget

    @property
    def generator(self) -> GeneratorName:
        return (SystemRandomness if self.secure_noise else KeyedRandomness).name

    def secure_source(self) -> Randomness | None:
        return SystemRandomness() if self.secure_noise else None

    def site(self, name: SiteId, rows: int, store: Store) -> "SharedSite":
        return SharedSite(name, rows, self, store)

    def group(
        self, rows: tuple[int, ...], paid: tuple[Mapping[Purpose, Paid], ...], randomness: RandomnessFor
    ) -> SharedGroup:
        if self.carriage is None:
            raise RuntimeError("These terms are for counting what was spent; nothing is sent under them.")
        return SharedGroup(rows, paid, randomness, self.plan.clip, carriage=self.carriage)

    def planned(self, rows: int, least_honest: int | None) -> Composition:  # noqa: ARG002 - the same for all sites
        enough = least_honest is not None and self.plan.parties.honest >= least_honest
        return self.plan.sums() if enough else self.plan.alone()

    def require_somebody(self, rows: Collection[int]) -> None:
        """Everybody can: a site with few records brings its noise."""

    def event(self, round_index: int) -> Event:
        """A site's part of a step, with its own share of the noise."""
        return Event(
            mechanism="gaussian" if self.plan.unit == "site" else "dp-sgd",
            release="update",
            noise_multiplier=self.plan.share,
            sample_rate=self.plan.rate,
            steps=1,
            round_index=round_index,
            study=self.study,
            contributors=self.plan.parties.contributors,
            colluders=self.plan.parties.colluders,
        )

    def summary(self, sites: Sequence[PayingSite]) -> dict[str, Any]:
        ledgers = [site.ledger for site in sites if isinstance(site, SharedSite)]
        worst = max(ledgers, key=lambda ledger: ledger.epsilon_shared)
        return {
            "noise": "shared",
            "unit": adjacency(self.plan.unit),
            "epsilon_shared": worst.epsilon_shared,
            "epsilon_shared_prv": worst.tighter_epsilon_shared,
            "epsilon_shared_replace_one": worst.replace_one_epsilon_shared,
            "epsilon_shared_budget": self.budget.epsilon,
            "epsilon_shared_per_client": [ledger.epsilon_shared for ledger in ledgers],
            "noise_multiplier": self.plan.share,
            "noise_multiplier_per_client": [self.plan.share for _ in sites],
            "score_noise": None,
            "score_noise_per_client": [None for _ in sites],
            "clip": self.plan.clip,
            "contributors": self.plan.parties.contributors,
            "colluders": self.plan.parties.colluders,
            "shared": self.plan.to_json(),
        }


class SharedSite(PayingSite):
    ledger: SharedLedger

    def __init__(self, name: SiteId, rows: int, terms: SharedTerms, store: Store) -> None:
        self.name, self.rows, self.study, self._terms = name, rows, terms.study, terms
        self.ledger = SharedLedger(name, terms.plan, terms.study, store)

    @property
    def objection(self) -> str | None:
        return None

    def events(self, round_index: int) -> dict[Purpose, Event]:
        return {Purpose.SHARED_STEP: self._terms.event(round_index)}

"""Privacy of a whole study: every site's schedule, noise and ledger; who may take part in a round; what it came to."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotPrivate, PrivateQuery, PrivateTraining, Releases
from secure_sapefl.config import Config, Settings
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.accounting import Composition, composition_in_sums, rdp_epsilon
from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.privacy.calibration import Noise, Schedule, calibrate
from secure_sapefl.privacy.counts import count_event, multiplier_of_preparation
from secure_sapefl.privacy.delta import warn_of_delta
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import PREPARATION, Budget, Event
from secure_sapefl.privacy.group import PrivateGroup
from secure_sapefl.privacy.ledger import Ledger, MemoryStore, Paid, Store
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.privacy.paying import AnyTerms, PayingSite
from secure_sapefl.privacy.randomness import (
    GeneratorName,
    KeyedRandomness,
    Randomness,
    RandomnessFor,
    SecureRandomness,
)
from secure_sapefl.protocol.messages import Refusal, SiteId
from secure_sapefl.storage.chain import Head
from secure_sapefl.streams import Purpose

FIXED: Final = "Rows are prepared by fixed formulas that learn nothing from a site's records."
PAID: Final = "Rows are prepared by what noised sums over all sites say; these were paid for before the first round."
LEARNED: Final = "Not covered: rows are prepared with means, deviations and medians of the sites' own records."


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all sites of a study agree on. Public."""

    study: str
    budget: Budget
    releases: Releases
    rounds: int
    participation: float
    batch_size: int
    clip: float
    score_fraction: float
    secure_noise: bool
    preparation: float | None = None  # noise multiplier of the counts from which sites agree on a preparation
    results: float | None = None  # of the counts behind test results that leave a deployed site

    @classmethod
    def from_config(cls, config: Config, algorithm: Algorithm, options: Settings, study: str) -> "Terms | None":
        """What the configuration asks for, never less; None where it names no budget."""
        if config.dp_epsilon is None or config.dp_delta is None:
            return None
        if isinstance(algorithm.releases, NotPrivate):
            raise BadInput(f"{algorithm.title} has no differentially private form: {algorithm.releases.reason}")
        budget = Budget(config.dp_epsilon, config.dp_delta)
        return cls(
            study=study,
            budget=budget,
            releases=algorithm.releases(options, config.local_epochs),
            rounds=config.rounds,
            participation=config.participation,
            batch_size=config.batch_size,
            clip=config.dp_clip,
            score_fraction=config.dp_score_fraction,
            secure_noise=config.dp_secure_noise,
            preparation=multiplier_of_preparation(budget) if config.preparation == "common" else None,
        )

    def schedule(self, rows: int) -> Schedule:
        """A site's own part: it expects to be invited to its share of the rounds."""
        epochs = sum(training.epochs for training in self.releases.trainings)
        return Schedule(
            rounds=math.ceil(self.participation * self.rounds - 1e-9),
            steps=epochs * self.steps_per_epoch(rows),
            sample_rate=self.sample_rate(rows),
            queries=len(self.releases.queries),
            score_fraction=self.score_fraction,
            preparation=self.preparation,
            results=self.results,
        )

    def sample_rate(self, rows: int) -> float:
        return min(1.0, self.batch_size / rows)

    def steps_per_epoch(self, rows: int) -> int:
        return math.ceil(rows / self.batch_size)

    @property
    def generator(self) -> GeneratorName:
        return (SecureRandomness if self.secure_noise else KeyedRandomness).name

    def secure_source(self) -> Randomness | None:
        return SecureRandomness() if self.secure_noise else None

    def site(self, name: SiteId, rows: int, store: Store) -> "PrivateSite":
        return PrivateSite(name, rows, self, store)

    def group(
        self, rows: tuple[int, ...], paid: tuple[Mapping[Purpose, Paid], ...], randomness: RandomnessFor
    ) -> PrivateGroup:
        return PrivateGroup(rows, paid, randomness, self.clip)

    def planned(self, rows: int, least_honest: int | None) -> Composition:  # noqa: ARG002 - no noise but the site's own
        schedule = self.schedule(rows)
        return schedule.composition(calibrate(self.budget, schedule))

    def require_somebody(self, rows: Collection[int]) -> None:
        if self.releases.trainings and all(count < self.batch_size for count in rows):
            raise BadInput(
                f"No site has as many rows as a batch ({self.batch_size}): the largest has {max(rows)}. Choose a "
                "smaller --batch-size."
            )

    def summary(self, sites: Sequence[PayingSite]) -> dict[str, Any]:
        noises = [site.noise for site in sites if isinstance(site, PrivateSite)]
        training, score = ([getattr(noise, name) for noise in noises] for name in ("training", "score"))
        return {
            "noise_multiplier": _largest(training),
            "noise_multiplier_per_client": training,
            "score_noise": _largest(score),
            "score_noise_per_client": score,
            "clip": self.clip,
        }


class PrivateSite(PayingSite):
    """A site whose own noise hides its records: how much follows from its number of rows."""

    def __init__(self, name: SiteId, rows: int, terms: Terms, store: Store) -> None:
        self.name, self.rows, self.study, self._terms = name, rows, terms.study, terms
        self.ledger = Ledger(name, terms.budget, store)
        self.noise = Noise(None, None) if self.objection else calibrate(terms.budget, terms.schedule(rows))

    @property
    def objection(self) -> str | None:
        """With fewer rows than a batch every record would be in every step: sampling would hide nobody."""
        if not self._terms.releases.trainings or self.rows >= self._terms.batch_size:
            return None
        return (
            f"Site {self.name!r} sits out: the {self.rows} rows it declares are fewer than a batch of "
            f"{self._terms.batch_size}. Choose a smaller --batch-size."
        )

    def events(self, round_index: int) -> dict[Purpose, Event]:
        def event(one: PrivateTraining | PrivateQuery, noise: float | None, rate: float, steps: int) -> Event:
            return Event(
                mechanism="dp-sgd" if isinstance(one, PrivateTraining) else "gaussian",
                release=one.pays_for,
                noise_multiplier=_present(noise),
                sample_rate=rate,
                steps=steps,
                round_index=round_index,
                study=self._terms.study,
            )

        releases, noise, rate = self._terms.releases, self.noise, self._terms.sample_rate(self.rows)
        epoch = self._terms.steps_per_epoch(self.rows)
        trainings = {one.purpose: event(one, noise.training, rate, one.epochs * epoch) for one in releases.trainings}
        return trainings | {one.purpose: event(one, noise.score, 1.0, 1) for one in releases.queries}


class StudyPrivacy:
    def __init__(
        self,
        terms: AnyTerms,
        rows: Mapping[SiteId, int],
        store: Callable[[SiteId], Store] = lambda _: MemoryStore(),
        *,
        learned: bool = False,
        least: int = 1,
    ) -> None:
        """``least`` sites must be in a sum before it is opened: for a round that fewer can pay for, nobody pays."""
        self._terms, self._learned, self._least = terms, learned, least
        self.sites = tuple(terms.site(name, count, store(name)) for name, count in rows.items())
        self._paid: dict[int, Mapping[Purpose, Paid]] = {}
        self._stopped: list[tuple[int, Refusal]] = []
        terms.require_somebody(rows.values())
        warn_of_delta(terms.budget.delta, [site.rows for site in self.sites])

    def admit(self, round_index: int, invited: Sequence[int]) -> tuple[list[int], list[Refusal]]:
        """Whoever can pay for the round has paid for it now; the others sit out and say why."""
        reasons = {c: self.sites[c].reason_to_sit_out(round_index) for c in invited}
        able = [c for c, reason in reasons.items() if reason is None]
        if len(able) < self._least:
            why = f"{len(able)} sites can pay for this round, and no sum of fewer than {self._least} is opened."
            reasons |= {c: f"Site {self.sites[c].name!r} keeps its budget: {why}" for c in able}
            able = []
        self._paid = {}
        for c in able:
            try:
                self._paid[c] = self.sites[c].pay(round_index)
            except BudgetExhausted as error:  # of a store with a limit of its own: over all studies, say
                reasons[c] = str(error)
        refusals = [Refusal(self.sites[c].name, reason) for c, reason in reasons.items() if reason is not None]
        self._stopped += [(round_index, refusal) for refusal in refusals]
        return list(self._paid), refusals

    def readmit(self, round_index: int, invited: Sequence[int]) -> None:
        """After a crash: the round is paid for, and nothing of it has left."""
        self._paid = {c: self.sites[c].pay_with_record(round_index) for c in invited}

    def recall(self, round_index: int, invited: Sequence[int]) -> None:
        """A round that is over. What is on record stays; a ledger that was lost with its process is charged again."""
        self.admit(round_index, [c for c in invited if not self.sites[c].has_paid(round_index)])

    def protect(self, group: SiteGroup, sites: Sequence[int]) -> SiteGroup:
        """The group with its records behind the mechanisms its sites have paid for."""

        def randomness(purpose: Purpose) -> list[Randomness]:
            return [self._terms.secure_source() or KeyedRandomness(rng) for rng in group.streams(purpose)]

        paid = tuple(self._paid.pop(c) for c in sites)
        rows = tuple(self.sites[c].rows for c in sites)
        return replace(group, private=self._terms.group(rows, paid, randomness))

    def epsilon_shared(self, site: int) -> float:
        """Spent so far by one site, as readers of opened sums see it."""
        ledger = self.sites[site].ledger
        return rdp_epsilon(composition_in_sums(ledger.events), ledger.budget.delta)

    def ledger_heads(self) -> dict[SiteId, Head]:
        return {name: store.head for name, store in self._files().items()}

    def require_ledgers(self, known: Mapping[SiteId, Head]) -> None:
        for name, store in self._files().items():
            if name in known:
                store.require(known[name])

    def recall_preparation(self) -> None:
        """Where sites agreed on a preparation: what a ledger holds of it stays; one in memory was lost, and is charged
        again."""
        if not isinstance(self._terms, Terms) or self._terms.preparation is None:
            return
        event = count_event(PREPARATION, self._terms.preparation, self._terms.study)
        for site in self.sites:
            if not site.ledger.holds([event]):
                site.ledger.charge([event])

    def _about_preparation(self) -> str:
        paid = isinstance(self._terms, Terms) and self._terms.preparation is not None
        return LEARNED if self._learned else PAID if paid else FIXED

    def _files(self) -> dict[SiteId, FileStore]:
        stores = {site.name: site.ledger.store for site in self.sites}
        return {name: store for name, store in stores.items() if isinstance(store, FileStore)}

    def close(self) -> None:
        for site in self.sites:
            site.ledger.close()

    def summary(self) -> dict[str, Any]:
        """`summary.json`'s ``privacy``. Epsilon is what the ledgers hold, by RDP; the worst site's also by PRV."""
        ledgers = [site.ledger for site in self.sites]
        worst = max(ledgers, key=lambda ledger: ledger.epsilon)
        return {
            "epsilon_max": worst.epsilon,
            "epsilon_max_prv": worst.tighter_epsilon,
            "epsilon_max_replace_one": worst.replace_one_epsilon,
            "epsilon_budget": worst.budget.epsilon,
            "epsilon_per_client": [ledger.epsilon for ledger in ledgers],
            "delta": self._terms.budget.delta,
            "unit": ADJACENCY,
            "rows_declared_per_client": [site.rows for site in self.sites],
            "accountant": "rdp",
            **self._terms.summary(self.sites),
            "generator": self._terms.generator,
            "metrics": "exact: a simulation's, not released by its sites",
            "stopped": [{"site": r.site, "round": at, "reason": r.reason} for at, r in self._stopped],
            "preparation_covered": not self._learned,
            "notes": [*self._terms.releases.notes, self._about_preparation()],
        }


def _present(noise: float | None) -> float:
    assert noise is not None, "a schedule with such a release was calibrated"
    return noise


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)

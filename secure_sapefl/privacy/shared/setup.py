"""From a configuration to everything a study with shared noise needs: the calibrator's choices are written into it, so
that a run's `config.toml` and a study file say them, and whoever reads them back finds the same plan."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.config import Config, Settings
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.shared.calibrator import Circumstances, Wanted, chosen_steps, shared_plan
from secure_sapefl.privacy.shared.carriage import Carriage, ExactNumbers
from secure_sapefl.privacy.shared.form import releases, require_shared_form, shared_form
from secure_sapefl.privacy.shared.plan import SharedPlan
from secure_sapefl.privacy.shared.terms import SharedTerms
from secure_sapefl.protocol.study import cohort_size, draw_cohort


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNoise:
    """``config`` is the one given, with the plan written in; ``algorithm`` the method as it is run."""

    config: Config
    plan: SharedPlan
    carriage: Carriage
    algorithm: Algorithm

    @classmethod
    def from_config(
        cls, config: Config, algorithm: Algorithm, *, units: Sequence[int], parameters: int, numbers: ExactNumbers
    ) -> "SharedNoise":
        """``units`` are the records or persons that each site declares, or 1, in the order of the roster."""
        require_shared_form(algorithm)
        config = config.model_copy(update={"rounds": chosen_steps(config.rounds)})
        plan = planned(config, tuple(units), parameters)
        chosen = {"dp_contributors": plan.parties.contributors, "dp_rate": plan.rate, "dp_lr": plan.lr}
        carriage = Carriage.for_plan(plan, parameters, numbers)
        return cls(
            config=config.model_copy(update=chosen),
            plan=plan,
            carriage=carriage,
            algorithm=shared_form(algorithm, plan, carriage, parameters),
        )

    def terms(self, options: Settings, study: str) -> SharedTerms:
        return SharedTerms(
            study=study,
            plan=self.plan,
            releases=releases(options, 1),
            secure_noise=self.config.dp_secure_noise,
            carriage=self.carriage,
        )


def counting_terms(config: Config, options: Settings, rows: Sequence[int], study: str) -> SharedTerms:
    """The terms of a study whose plan is written in its configuration, for counting what was spent."""
    plan = planned(config, tuple(rows), parameters=1)  # no epsilon depends on the number of weights, or of units
    return SharedTerms(
        study=study, plan=plan, releases=releases(options, 1), secure_noise=config.dp_secure_noise, carriage=None
    )


def planned(config: Config, units: tuple[int, ...], parameters: int) -> SharedPlan:
    if config.dp_epsilon is None or config.dp_delta is None:
        raise BadInput("Shared noise is sized by a budget: give --dp-epsilon and --dp-delta, for instance 2 and 1e-5.")
    if config.scores == "hidden":
        raise BadInput("Under shared noise everybody weighs the same, there is no score to hide: leave out --scores.")
    wanted = Wanted(
        budget=Budget(config.dp_epsilon, config.dp_delta),
        unit=config.dp_unit,
        contributors=config.dp_contributors,
        colluders=config.dp_colluders,
        rate=config.dp_rate,
        clip=config.dp_clip,
        lr=config.dp_lr,
        optimizer=config.dp_optimizer,
    )
    facts = Circumstances(
        units=units,
        invited=cohort_size(config.participation, len(units)),
        steps=config.rounds,
        charged=most_invitations(config.seed, config.participation, len(units), config.rounds),
        parameters=parameters,
    )
    return shared_plan(wanted, facts)


@lru_cache(maxsize=64)
def most_invitations(seed: int, participation: float, sites: int, rounds: int) -> int:
    """Rounds of the site that the study's seed draws most often: everybody can count them."""
    if cohort_size(participation, sites) == sites:
        return rounds
    drawn = Counter(site for index in range(rounds) for site in draw_cohort(seed, participation, sites, index))
    return max(drawn.values())

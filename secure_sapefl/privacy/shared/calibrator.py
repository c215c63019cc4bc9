"""From a budget, declared numbers and the steps a coordinator can afford to a plan, before any record is read.

What is chosen, unless it is given:

contributors  nine of ten of those who are invited: a tenth may be missing before a round has to wait for them.

steps         as many as can be afforded, up to ``MOST_STEPS``. At a fixed epsilon the noise of a step grows like their
              square root and that of their mean does not: more steps buy little, fewer have to be longer.

rate          the smallest at which the noise beside the mean gradient, sigma / q, is within a tenth of the least there
              is (at rate 1, with everybody in every step). Below, sampling costs accuracy; above, only time.

clip          as given, 1 unless said otherwise. Steps are divided by it, so that it decides only which gradients count
              by their direction alone. On HAR, of 0.1, 0.3, 1 and 3 none was a point better than another.

lr            so that all steps together lead as far as model and noise let them. A walk of T steps of eta moves P
              numbers by T eta / sqrt(P) each, in clips, and by T eta r astray, where r = sigma / (q N) is the noise on
              each number of the mean gradient, whatever T is:

                  T eta = min(1.15 sqrt(P), 0.75 / r)

              falling to 0, and no step above 2. Found with P = 30,278 on HAR over 100 sites and over 30 persons,
              epsilon 1, 2 and 4 (a walk of 200), and with P = 28 on heart, epsilon 0.5, 2 and 8, where walks of 200
              cost up to eight points. Adam divides by the size of the gradient, here of the noise; its rate is the one
              that moves as far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from secure_sapefl.config import Optimizer, PrivacyUnit
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.shared.optimizer import FORGETTING
from secure_sapefl.privacy.shared.parties import Parties
from secure_sapefl.privacy.shared.plan import SharedPlan, noise_for
from secure_sapefl.protocol.study import fewest_contributors

MOST_STEPS: Final = 400
_RATES: Final = tuple(2 ** (-k / 2) for k in range(20))  # 1, 0.71, 0.5, ... 0.0014
_NEAR_ENOUGH: Final = 1.1
_LONGEST_WALK, _STRAYING, _LONGEST_STEP = 1.15, 0.75, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a coordinator says; None where the calibrator is to choose."""

    budget: Budget
    unit: PrivacyUnit
    contributors: int | None
    colluders: int
    rate: float | None
    clip: float
    lr: float | None
    optimizer: Optimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Public facts of the study: ``units`` (records, persons, or 1) declared by each site, ``invited`` to a round,
    ``charged`` steps of the site that is drawn most often."""

    units: Sequence[int]
    invited: int
    steps: int
    charged: int
    parameters: int


def chosen_steps(affordable: int) -> int:
    return min(affordable, MOST_STEPS)


def shared_plan(wanted: Wanted, facts: Circumstances) -> SharedPlan:
    if wanted.contributors is not None and wanted.contributors > facts.invited:
        raise BadInput(
            f"--dp-contributors is {wanted.contributors}, and {facts.invited} sites are invited to a round: none could "
            "ever be opened. Lower it, or raise --participation."
        )
    contributors = wanted.contributors or fewest_contributors(facts.invited)
    rate = wanted.rate or _rate(wanted.budget, facts.charged)
    noise = noise_for(wanted.budget, rate, facts.charged)
    strays = noise / (rate * sum(facts.units))
    return SharedPlan(
        budget=wanted.budget,
        parties=Parties(contributors, wanted.colluders),
        unit=wanted.unit,
        steps=facts.steps,
        charged=facts.charged,
        rate=rate,
        clip=wanted.clip,
        lr=wanted.lr or _learning_rate(strays, facts, wanted.optimizer),
        optimizer=wanted.optimizer,
        units=sum(facts.units),
        most_units=max(facts.units),
        sites=len(facts.units),
    )


def _rate(budget: Budget, steps: int) -> float:
    most = _NEAR_ENOUGH * noise_for(budget, 1.0, steps)
    return min(takewhile(lambda rate: noise_for(budget, rate, steps) / rate <= most, _RATES))


def _learning_rate(strays: float, facts: Circumstances, optimizer: Optimizer) -> float:
    walk = min(_LONGEST_WALK * math.sqrt(facts.parameters), _STRAYING / strays)
    step = min(_LONGEST_STEP, walk / facts.steps)
    match optimizer:
        case "momentum":
            return step
        case "adam":
            return step / FORGETTING * strays

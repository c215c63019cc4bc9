"""What a study with shared noise does, in public numbers: everything follows from them but the noise itself."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from secure_sapefl.config import Optimizer, PrivacyUnit
from secure_sapefl.privacy.accounting import Composition, prv_epsilon, rdp_epsilon
from secure_sapefl.privacy.calibration import least_noise
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.replaced import replace_one_epsilon
from secure_sapefl.privacy.shared.parties import Parties


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlan:
    """A step of the study: every site draws its units (records, or itself) at ``rate``, clips what each brings to
    ``clip``, adds it up and adds its share of the noise. All sites divide the sum by rate and number of units, which
    are public, and take the same step."""

    budget: Budget  # of opened sums, given the parties
    parties: Parties
    unit: PrivacyUnit
    steps: int
    charged: int  # steps that the site which is drawn most often takes part in
    rate: float
    clip: float
    lr: float
    optimizer: Optimizer
    units: int  # declared by all sites together
    most_units: int  # declared by one
    sites: int

    @property
    def noise(self) -> float:
        """The noise multiplier of the sum, the least that keeps to the budget."""
        return noise_for(self.budget, self.rate, self.charged)

    @property
    def share(self) -> float:
        """The noise multiplier of one site's part."""
        return self.parties.share(self.noise)

    def sums(self) -> Composition:
        """What readers of sums see of a site over the study."""
        return [(self.noise, self.rate, self.charged)]

    def alone(self) -> Composition:
        """What is left of that if everybody else conspires."""
        return [(self.share, self.rate, self.charged)]

    @property
    def epsilon_shared(self) -> float:
        return rdp_epsilon(self.sums(), self.budget.delta)

    @property
    def epsilon_max(self) -> float:
        return rdp_epsilon(self.alone(), self.budget.delta)

    @property
    def units_per_site(self) -> float:
        return self.units / self.sites

    def to_json(self) -> dict[str, Any]:
        """`summary.json`'s ``privacy.shared``."""
        delta = self.budget.delta
        return {
            "contributors": self.parties.contributors,
            "colluders": self.parties.colluders,
            "honest": self.parties.honest,
            "unit": self.unit,
            "steps": self.steps,
            "rate": self.rate,
            "clip": self.clip,
            "lr": self.lr,
            "optimizer": self.optimizer,
            "units_declared": self.units,
            "noise_multiplier_of_sum": self.noise,
            "noise_multiplier_of_share": self.share,
            "epsilon_shared_planned": self.epsilon_shared,
            "epsilon_shared_planned_prv": prv_epsilon(self.sums(), delta),
            "epsilon_shared_planned_replace_one": replace_one_epsilon(self.sums(), delta),
            "epsilon_max_planned": self.epsilon_max,
        }

    def sentences(self) -> tuple[str, ...]:
        """For people, before anything runs."""
        parties = self.parties
        return (
            f"{self.steps} steps, one a round. In each, {self._drawn()}, and adds its share of the noise.",
            f"A sum is opened with {parties.contributors} contributors or more (m), of whom {parties.colluders} may "
            f"collude (t). At least {parties.honest} shares of the noise are then known to no reader.",
            f"Noise multiplier of the sum {self.noise:.3g}, of a share {self.share:.3g}.",
            f"epsilon_shared {self.epsilon_shared:.3g} at delta {self.budget.delta:g}: for each {self.unit}, whoever "
            f"reads opened sums, given m and t. epsilon_max {self.epsilon_max:.3g}: if everybody else conspires.",
            f"Sites divide by {self.rate:.3g} times {self.units:,} declared {self.unit}s and step by {self.optimizer}, "
            f"learning rate {self.lr:.3g} falling to 0; the model is the mean over the second half of the steps.",
        )

    def _drawn(self) -> str:
        if self.unit == "site":
            return f"a site sends its update, clipped to {self.clip:g}, with probability {self.rate:.3g}"
        return f"a site draws every {self.unit} with probability {self.rate:.3g}, clips what it brings to {self.clip:g}"


@lru_cache(maxsize=1 << 10)
def noise_for(budget: Budget, rate: float, steps: int) -> float:
    """The least noise with which so many steps at a rate stay within the budget."""
    return least_noise(budget, lambda noise: [(noise, rate, steps)])

"""A method as a study with shared noise runs it.

A record changes every later step of a site's own training, and nothing but noise at that site bounds by how much. So a
round is one step here: sites send noised sums of gradients at the common model, and nothing else. What a site uses, the
method makes of the common model at home; of that nothing leaves, and it costs nothing. Peers' models are not sent.

Noise has carried the common model far: its weights are several times as long as those of a start, its outputs are sure
of themselves, and one record that it gets wrong has a gradient of tens of clips. Plain steps at a rate that suits a new
model throw it away. So steps at home are as long as those it was made with: a gradient longer than the clip is cut to
it, unless the study says another length (`--max-grad-norm`). docs/privacy.md has the figures.

For whole sites as unit the update itself is clipped, whatever made it: there a round is the method's local training.
"""

from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, no_state, whole_model
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotShared, PrivateTraining, Releases
from secure_sapefl.config import Settings
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.mechanism import SharedGroup
from secure_sapefl.privacy.shared.optimizer import Descent, Iterate
from secure_sapefl.privacy.shared.plan import SharedPlan
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss

NOTES: Final = (
    "Noise is shared: all sites take one common step a round, and only sums are private by epsilon_shared.",
    "Models at home are trained from the common model; nothing of them leaves, and peers' models are not exchanged.",
    "Where one number stands for a site it is epsilon_max: what it spent if everybody else conspires.",
)


def releases(_: Settings, __: int) -> Releases:
    """One noised sum a round. Everybody weighs the same."""
    step = PrivateTraining(Purpose.SHARED_STEP, "update", 1)
    return Releases(trainings=(step,), free=("similarity_score",), notes=NOTES)


def require_shared_form(algorithm: Algorithm) -> None:
    if isinstance(algorithm.from_common, NotShared):
        raise BadInput(f"{algorithm.title} cannot use shared noise: {algorithm.from_common.reason}")


def shared_form(algorithm: Algorithm, plan: SharedPlan, carriage: Carriage, parameters: int) -> Algorithm:
    """``algorithm`` with shared noise. One that sends nothing stays as it is."""
    if algorithm.homomorphic is Homomorphic.SILENT:
        return algorithm
    require_shared_form(algorithm)
    form = _Form(algorithm, plan, carriage, parameters)
    return replace(
        algorithm,
        initial_state=no_state,
        site_round=form.site_round,
        personal_models=form.personal_models,
        score_bound=lambda _: 1.0,
        update_length=whole_model,
        initial_global=lambda theta, _: Iterate.first(theta, plan.optimizer).row(),
        global_step=form.global_step,
        relays_models=False,
        releases=releases,
    )


@dataclass(frozen=True, slots=True)
class _Form:
    algorithm: Algorithm
    plan: SharedPlan
    carriage: Carriage
    parameters: int

    def site_round(self, group: SiteGroup, _: Settings) -> Contribution:
        """A score of 1: what is wanted is a sum over records, not a mean of sites."""
        private = group.private
        if not isinstance(private, SharedGroup):
            raise RuntimeError("A step under shared noise is taken only by sites that have paid for it.")
        now = Iterate.from_row(group.theta_global, self.parameters)
        with group.clock.phase("local"):
            sums = self._sums(private, group, now.theta)
        return Contribution(state={}, update=sums, score=torch.ones(group.size, device=sums.device))

    def _sums(self, private: SharedGroup, group: SiteGroup, theta: Tensor) -> Tensor:
        rows = group.rows_for(Purpose.SHARED_STEP)
        match self.plan.unit:
            case "record":
                return private.gradient_sums(theta, group.trainer.model, rows)
            case "person":
                return private.person_sums(theta, group.trainer, rows)
            case "site":
                return private.update_sums(_local_update(group, theta))

    def global_step(self, theta_global: Tensor, mean: Tensor, _: Settings) -> Tensor:
        """``mean`` is the opened sum by its number of contributors; q times the units a site declares, on average, and
        the clip make a gradient of it."""
        descent = Descent(optimizer=self.plan.optimizer, lr=self.plan.lr, steps=self.plan.steps)
        expected = self.plan.rate * self.plan.units_per_site * self.plan.clip
        gradient = mean * (self.carriage.unit / expected)
        return descent.step(Iterate.from_row(theta_global, self.parameters), gradient).row()

    def personal_models(self, group: SiteGroup, options: Settings) -> Tensor:
        assert not isinstance(self.algorithm.from_common, NotShared)  # or there would be no such form
        return self.algorithm.from_common(at_home(group, self.parameters, self.plan.clip), options)


def at_home(group: SiteGroup, parameters: int, clip: float) -> SiteGroup:
    """The group with the common model, its records without noise between, and steps no longer than ``clip``."""
    rule = group.rule if group.rule.max_norm is not None else replace(group.rule, max_norm=clip)
    return replace(group, theta_global=group.theta_global[:parameters], private=None, rule=rule)


def _local_update(group: SiteGroup, theta: Tensor) -> Tensor:
    """What E epochs at each site would change, downhill being negative as in a gradient, [G, P]."""
    trained = group.train(group.everywhere(theta), LocalLoss(), Purpose.LOCAL_BATCHES, leaves=False)
    return theta - trained

"""Ditto (Li et al., ICML 2021): FedAvg, and beside it a private model on a leash to the global one.

Read from the authors' code. Both models see the same batches. The anchor is the *received* global model, frozen for
the round. Deviation: the authors sample sites by size and average uniformly; here sites are sampled uniformly and
averaged by n_c, as for every other method.
"""

from pydantic import Field
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import one_update
from secure_sapefl.config import Settings
from secure_sapefl.streams import Purpose


class DittoOptions(Settings):
    """1 is the value of the authors' scripts; 0 is local training."""

    strength: float = Field(1.0, ge=0, description="lambda, the pull of the personal model towards the global one")


def site_round(group: SiteGroup, options: DittoOptions) -> Contribution:
    """w: E epochs of L_c from theta_G. v_c: E epochs of L_c(v) + lambda/2 ||v - theta_G||^2 from the last v_c."""
    with group.clock.phase("local"):
        theta_local = group.train_local()
    with group.clock.phase("personal"):
        objective = group.proximal(group.theta_global, options.strength)
        theta_personal = group.train(group.state["theta_personal"], objective, Purpose.LOCAL_BATCHES, leaves=False)
    return Contribution(
        state={"theta_personal": theta_personal}, update=group.update_of_(theta_local), score=group.row_counts
    )


def from_common(group: SiteGroup, options: DittoOptions) -> Tensor:
    """Under shared noise, where a round is one step: E epochs on the leash, from the common model, when it is used."""
    objective = group.proximal(group.theta_global, options.strength)
    return group.train(group.everywhere(group.theta_global), objective, Purpose.LOCAL_BATCHES)


ALGORITHM = Algorithm(
    name="ditto",
    title="Ditto",
    source="Li et al., Ditto: Fair and Robust Federated Learning Through Personalization, ICML 2021",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=personal_state,
    site_round=site_round,
    personal_models=lambda group, _: group.state["theta_personal"],
    score_bound=lambda facts: float(facts.largest_site),
    releases=one_update,
    options=DittoOptions,
    from_common=from_common,
)

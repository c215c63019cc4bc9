"""FedProx (Li et al., MLSys 2020): FedAvg with a quadratic leash against drift.

Sites take theta <- theta - eta (grad L_c(theta) + mu (theta - theta_G)); the server averages with n_c. Read from the
authors' code. Stragglers that return fewer epochs are not modelled: every site does all of its steps.
"""

from pydantic import Field

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, no_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import NotShared, one_update
from secure_sapefl.config import Settings
from secure_sapefl.streams import Purpose


class FedProxOptions(Settings):
    """The authors name 0.001 to 1 and say that no value fits all data; 0 is FedAvg."""

    mu: float = Field(0.01, ge=0, description="strength of the pull towards the global model")


def site_round(group: SiteGroup, options: FedProxOptions) -> Contribution:
    """min L_c(theta) + mu/2 ||theta - theta_G||^2 from theta_G."""
    objective = group.proximal(group.theta_global, options.mu)
    with group.clock.phase("local"):
        theta_local = group.train(group.everywhere(group.theta_global), objective, Purpose.LOCAL_BATCHES)
    return Contribution(state={}, update=group.update_of_(theta_local), score=group.row_counts)


ALGORITHM = Algorithm(
    name="fedprox",
    title="FedProx",
    source="Li et al., Federated Optimization in Heterogeneous Networks, MLSys 2020",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=no_state,
    site_round=site_round,
    personal_models=lambda group, _: group.everywhere(group.theta_global),
    score_bound=lambda facts: float(facts.largest_site),
    releases=one_update,
    from_common=NotShared("what is summed under it is trained without a leash, and it would be FedAvg. Choose fedavg."),
    options=FedProxOptions,
)

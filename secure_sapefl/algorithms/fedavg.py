"""FedAvg (McMahan et al., AISTATS 2017): average locally trained copies of one model, weighted by n_c."""

from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, NoOptions, no_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import one_update
from secure_sapefl.config import Settings


def site_round(group: SiteGroup, _: NoOptions) -> Contribution:
    """theta_G <- theta_G + sum_c n_c (theta_local_c - theta_G) / sum_c n_c, the same mean as of the models."""
    with group.clock.phase("local"):
        theta_local = group.train_local()
    return Contribution(state={}, update=group.update_of_(theta_local), score=group.row_counts)


def as_it_is(group: SiteGroup, _: Settings) -> Tensor:
    """Everybody uses the common model."""
    return group.everywhere(group.theta_global)


ALGORITHM = Algorithm(
    name="fedavg",
    title="FedAvg",
    source="McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017",
    homomorphic=Homomorphic.WEIGHTED_SUM,
    initial_state=no_state,
    site_round=site_round,
    personal_models=as_it_is,
    score_bound=lambda facts: float(facts.largest_site),
    releases=one_update,
    from_common=as_it_is,
)

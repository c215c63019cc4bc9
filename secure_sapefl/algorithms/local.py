"""Local-only: every site trains alone. The floor any collaboration has to beat."""

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, NoOptions, personal_state
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.releases import nothing
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss


def site_round(group: SiteGroup, _: NoOptions) -> Contribution:
    with group.clock.phase("local"):
        theta = group.train(group.state["theta_personal"], LocalLoss(), Purpose.LOCAL_BATCHES, leaves=False)
    return Contribution(state={"theta_personal": theta})


ALGORITHM = Algorithm(
    name="local",
    title="Local-only",
    source="no collaboration; trains on the same participation schedule as the others",
    homomorphic=Homomorphic.SILENT,
    initial_state=personal_state,
    site_round=site_round,
    personal_models=lambda group, _: group.state["theta_personal"],
    releases=nothing,
    score_bound=lambda _: 1.0,
)

"""The public terms of a study, from its configuration: written once for the simulator and for deployed studies."""

from collections.abc import Sequence

from secure_sapefl.algorithms.base import Algorithm, Homomorphic, StudyFacts
from secure_sapefl.config import Config, Settings
from secure_sapefl.models import Model
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import Study, cohort_size


def study_terms(
    config: Config,
    algorithm: Algorithm,
    options: Settings,
    model: Model,
    *,
    name: str,
    sites: Sequence[SiteId],
    largest_site: int,
) -> Study:
    """``largest_site`` is the most training rows any site declares."""
    facts = StudyFacts(
        cohort=cohort_size(config.participation, len(sites)),
        largest_site=largest_site,
        peers_per_client=config.peers_per_client,
    )
    return Study(
        name=name,
        sites=tuple(sites),
        participation=config.participation,
        seed=config.seed,
        parameters=algorithm.update_length(model, options),
        max_score=algorithm.score_bound(facts),
        peers_per_client=config.peers_per_client,
        peers_from=algorithm.peers_from,
        relay_only=algorithm.homomorphic is Homomorphic.RELAY,
    )

"""What follows from a configuration before any record is read: method, model, and the terms all sites agree on.

Written once for simulated and for deployed studies. A blueprint is public: it holds no key and no record.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from secure_sapefl.algorithms.base import Algorithm, Homomorphic, StudyFacts
from secure_sapefl.config import Config, Settings
from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import build_model
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import Study, cohort_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    config: Config
    algorithm: Algorithm
    options: Settings
    model: Model
    study: Study

    @classmethod
    def drawn_up(
        cls,
        config: Config,
        algorithm: Algorithm,
        options: Settings,
        *,
        name: str,
        shape: tuple[int, ...],
        classes: int,
        sites: Sequence[SiteId],
        largest_site: int,
    ) -> "Blueprint":
        """``shape`` and ``classes`` are a row's; ``largest_site`` is the most training rows any site declares."""
        model = build_model(shape, classes, config.model)
        facts = StudyFacts(
            cohort=cohort_size(config.participation, len(sites)),
            largest_site=largest_site,
            peers_per_client=config.peers_per_client,
        )
        study = Study(
            name=name,
            sites=tuple(sites),
            participation=config.participation,
            seed=config.seed,
            parameters=algorithm.update_length(model, options),
            max_score=algorithm.score_bound(facts),
            peers_per_client=config.peers_per_client,
            peers_from=algorithm.peers_from,
            relay_only=algorithm.homomorphic is Homomorphic.RELAY,
            scores=config.scores,
        )
        return cls(config=config, algorithm=algorithm, options=options, model=model, study=study)

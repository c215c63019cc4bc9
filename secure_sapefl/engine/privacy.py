"""Whether a run is private. Both kinds of study are asked the same questions, so the round is written once."""

from collections.abc import Sequence
from typing import Any, Protocol

from secure_sapefl.algorithms.base import Algorithm, SiteGroup
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.config import Config, Settings
from secure_sapefl.engine.sites import Sites
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import Refusal


class Privacy(Protocol):
    def admit(self, round_index: int, invited: Sequence[int]) -> tuple[list[int], list[Refusal]]:
        """Which of the invited sites take part, and why the others do not."""

    def protect(self, group: SiteGroup, sites: Sequence[int]) -> SiteGroup:
        """The group as the method may use it."""

    def summary(self) -> dict[str, Any] | None: ...


class Unprotected:
    """Everybody takes part, and nothing is noised."""

    def admit(self, round_index: int, invited: Sequence[int]) -> tuple[list[int], list[Refusal]]:  # noqa: ARG002
        return list(invited), []

    def protect(self, group: SiteGroup, sites: Sequence[int]) -> SiteGroup:  # noqa: ARG002
        return group

    def summary(self) -> None:
        return None


def privacy_for(config: Config, algorithm: Algorithm, options: Settings, sites: Sites, study: str) -> Privacy:
    """What the configuration asks for, never less."""
    if config.dp_epsilon is None or config.dp_delta is None:
        return Unprotected()
    if isinstance(algorithm.releases, NotPrivate):
        raise BadInput(f"{algorithm.title} has no differentially private form: {algorithm.releases.reason}")
    from secure_sapefl.privacy.events import Budget  # takes seconds to import, so only where it is asked for
    from secure_sapefl.privacy.study import StudyPrivacy, Terms

    budget = Budget(config.dp_epsilon, config.dp_delta)
    terms = Terms.of(config, budget, algorithm.releases(options, config.local_epochs), study)
    return StudyPrivacy(terms, dict(zip(sites.names, sites.sizes, strict=True)))

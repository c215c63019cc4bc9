"""What follows from a study file: method, model, protocol terms, encryption plan, privacy terms. Holds no key."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.algorithms.registry import algorithm as find_algorithm
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.config import Config, Settings
from secure_sapefl.errors import StudyRejected
from secure_sapefl.models import Model, build_model
from secure_sapefl.protocol.study import Study
from secure_sapefl.protocol.terms import study_terms
from secure_sapefl.study.file import StudyFile

if TYPE_CHECKING:
    from secure_sapefl.privacy.study import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTerms:
    """Made once by whoever runs the study: the server, or a site."""

    file: StudyFile
    config: Config
    algorithm: Algorithm
    options: Settings
    model: Model
    protocol: Study
    params: Parameters

    @classmethod
    def of(cls, file: StudyFile) -> "StudyTerms":
        config, algorithm = file.config(), find_algorithm(file.method)
        options = algorithm.options.read(file.options, f"study {file.name!r}, options of {file.method}")
        model = build_model(file.data.shape, len(file.data.classes), file.model)
        _check(file, algorithm)
        return cls(
            file=file,
            config=config,
            algorithm=algorithm,
            options=options,
            model=model,
            protocol=study_terms(
                config,
                algorithm,
                options,
                model,
                name=file.wire_name,
                sites=file.sites,
                largest_site=file.largest_site,
            ),
            params=Parameters.exact(
                max_clients=file.protection.max_clients, max_abs_value=file.protection.max_abs_value
            ),
        )

    def privacy(self) -> "Terms | None":
        """The privacy terms, as `privacy.study.StudyPrivacy` takes them; None in a study without them."""
        if self.file.privacy is None:
            return None
        from secure_sapefl.privacy.events import Budget  # takes seconds to import, so only where it is asked for
        from secure_sapefl.privacy.study import Terms

        assert not isinstance(self.algorithm.releases, NotPrivate)  # checked when these terms were made
        releases = self.algorithm.releases(self.options, self.config.local_epochs)
        budget = Budget(self.file.privacy.epsilon, self.file.privacy.delta)
        return Terms.of(self.config, budget, releases, self.file.wire_name)


def _check(file: StudyFile, algorithm: Algorithm) -> None:
    if algorithm.homomorphic is Homomorphic.SILENT:
        raise StudyRejected(f"{algorithm.title} sends nothing: there is no study to run. Choose another method.")
    if file.privacy is not None and isinstance(algorithm.releases, NotPrivate):
        raise StudyRejected(f"{algorithm.title} has no differentially private form: {algorithm.releases.reason}")

"""What follows from a study file: its blueprint, encryption plan and privacy terms. Holds no key."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.algorithms.registry import configured
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import StudyRejected
from secure_sapefl.privacy.delta import weak_delta
from secure_sapefl.protocol.blueprint import Blueprint
from secure_sapefl.study.file import StudyFile

if TYPE_CHECKING:
    from secure_sapefl.privacy.study import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTerms:
    """Made once by whoever runs the study: the server, or a site."""

    file: StudyFile
    blueprint: Blueprint
    params: Parameters

    @classmethod
    def from_file(cls, file: StudyFile) -> "StudyTerms":
        algorithm, options = configured(file.method, file.options, f"study {file.name!r}, options of {file.method}")
        _check(file, algorithm)
        return cls(
            file=file,
            blueprint=Blueprint.drawn_up(
                file.config(),
                algorithm,
                options,
                name=file.wire_name,
                shape=file.data.shape,
                classes=len(file.data.classes),
                sites=file.sites,
                largest_site=file.largest_site,
            ),
            params=Parameters.exact(
                max_clients=file.protection.max_clients, max_abs_value=file.protection.max_abs_value
            ),
        )

    @property
    def weak_delta(self) -> str | None:
        """What is wrong with the study's delta, by what its sites declare; None if nothing is."""
        study = self.file
        return None if study.privacy is None else weak_delta(study.privacy.delta, [*map(study.declared, study.sites)])

    def privacy(self) -> "Terms | None":
        """The privacy terms, as `privacy.study.StudyPrivacy` takes them; None in a study without them."""
        if self.file.privacy is None:
            return None
        from secure_sapefl.privacy.study import Terms  # takes seconds to import, so only where it is asked for

        study = self.blueprint
        return Terms.from_config(study.config, study.algorithm, study.options, self.file.wire_name)


def _check(file: StudyFile, algorithm: Algorithm) -> None:
    if algorithm.homomorphic is Homomorphic.SILENT:
        raise StudyRejected(f"{algorithm.title} sends nothing: there is no study to run. Choose another method.")
    if file.privacy is not None and isinstance(algorithm.releases, NotPrivate):
        raise StudyRejected(f"{algorithm.title} has no differentially private form: {algorithm.releases.reason}")

"""What follows from a study file: its blueprint, encryption plan and privacy terms. Holds no key."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.algorithms.registry import configured
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import StudyRejected
from secure_sapefl.privacy.delta import weak_delta
from secure_sapefl.protocol.blueprint import Blueprint, shares_noise
from secure_sapefl.study.file import StudyFile

if TYPE_CHECKING:
    from secure_sapefl.privacy.paying import AnyTerms
    from secure_sapefl.privacy.shared.setup import SharedNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTerms:
    """Made once by whoever runs the study: the server, or a site."""

    file: StudyFile
    blueprint: Blueprint
    params: Parameters
    shared: "SharedNoise | None" = None  # where sites share their noise, all that follows from that

    @classmethod
    def from_file(cls, file: StudyFile) -> "StudyTerms":
        algorithm, options = configured(file.method, file.options, f"study {file.name!r}, options of {file.method}")
        _check(file, algorithm)
        blueprint = Blueprint.drawn_up(
            file.config(),
            algorithm,
            options,
            name=file.wire_name,
            shape=file.data.shape,
            classes=len(file.data.classes),
            sites=file.sites,
            largest_site=file.largest_site,
        )
        params = Parameters.exact(max_clients=file.protection.max_clients, max_abs_value=file.protection.max_abs_value)
        terms = cls(file=file, blueprint=blueprint, params=params)
        return terms._with_shared_noise() if shares_noise(blueprint.config, algorithm) else terms

    def _with_shared_noise(self) -> "StudyTerms":
        """The plan follows from the file; what a calibrator would have chosen stands in it (`study new`)."""
        from secure_sapefl.privacy.shared.setup import SharedNoise  # takes seconds to import

        before, rows = self.blueprint, [*map(self.file.declared, self.file.sites)]
        shared = SharedNoise.from_config(
            before.config, before.algorithm, rows=rows, parameters=before.model.parameters, numbers=self.params
        )
        return replace(self, blueprint=before.with_shared_noise(shared.config, shared.algorithm), shared=shared)

    def plan(self) -> tuple[str, ...]:
        """What was decided for shared noise, in sentences; empty where noise is each site's own."""
        return () if self.shared is None else self.shared.plan.sentences()

    @property
    def weak_delta(self) -> str | None:
        """What is wrong with the study's delta, by what its sites declare; None if nothing is."""
        study = self.file
        return None if study.privacy is None else weak_delta(study.privacy.delta, [*map(study.declared, study.sites)])

    def privacy(self) -> "AnyTerms | None":
        """The privacy terms, as `privacy.study.StudyPrivacy` takes them; None in a study without them."""
        if self.file.privacy is None:
            return None
        from secure_sapefl.privacy.study import Terms  # takes seconds to import, so only where it is asked for

        study = self.blueprint
        if self.shared is not None:
            return self.shared.terms(study.options, self.file.wire_name)
        return Terms.from_config(study.config, study.algorithm, study.options, self.file.wire_name)


def _check(file: StudyFile, algorithm: Algorithm) -> None:
    if file.keys == "joint":
        raise StudyRejected("Joint keys are for simulations in this release; make the study with keys = shared.")
    if algorithm.homomorphic is Homomorphic.SILENT:
        raise StudyRejected(f"{algorithm.title} sends nothing: there is no study to run. Choose another method.")
    if file.privacy is not None and isinstance(algorithm.releases, NotPrivate):
        raise StudyRejected(f"{algorithm.title} has no differentially private form: {algorithm.releases.reason}")

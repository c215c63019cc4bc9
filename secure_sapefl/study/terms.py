"""What follows from a study file: its blueprint, encryption plan and privacy terms. Holds no key."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sapefl_crypto import Parameters
from sapefl_crypto.joint.plan import JointPlan
from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.algorithms.registry import configured
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import StudyRejected
from secure_sapefl.models.declared import DeclaredModel
from secure_sapefl.own_code import OwnCode
from secure_sapefl.privacy.delta import weak_delta
from secure_sapefl.protocol.blueprint import Blueprint, shares_noise
from secure_sapefl.protocol.study import Study
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.round_terms import RoundTerms, plan_of
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import BY_LABELS, with_weights

if TYPE_CHECKING:
    from secure_sapefl.privacy.paying import AnyTerms
    from secure_sapefl.privacy.shared.setup import SharedNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTerms(RoundTerms):
    """Made once by whoever runs the study: the server, or a site."""

    file: StudyFile
    blueprint: Blueprint
    params: Parameters | JointPlan
    shared: "SharedNoise | None" = None  # where sites share their noise, all that follows from that

    @classmethod
    def from_file(cls, file: StudyFile, build: OwnCode | None = None) -> "StudyTerms":
        """Of a study that carries code, with the model as it is declared, unless what builds it is at hand."""
        algorithm, options = configured(file.method, file.options, f"study {file.name!r}, options of {file.method}")
        _check(file, algorithm)
        blueprint = Blueprint.drawn_up(
            file.config(),
            algorithm,
            options,
            name=file.wire_name,
            shape=file.data.shape,
            classes=len(file.data.label_names),
            sites=file.sites,
            largest_site=file.largest_site,
            task=_task(file),
            build=build or _declared(file),
        )
        terms = cls(file=file, blueprint=blueprint, params=plan_of(file))
        return terms._with_shared_noise() if shares_noise(blueprint.config, algorithm) else terms

    def _with_shared_noise(self) -> "StudyTerms":
        """The plan follows from the file; what a calibrator would have chosen stands in it (`study new`)."""
        from secure_sapefl.privacy.shared.setup import SharedNoise  # takes seconds to import

        before, units = self.blueprint, [*map(self.file.declared_units, self.file.sites)]
        shared = SharedNoise.from_config(
            before.config, before.algorithm, units=units, parameters=before.model.parameters, numbers=self.params
        )
        return replace(self, blueprint=before.with_shared_noise(shared.config, shared.algorithm), shared=shared)

    @property
    def study(self) -> Study:
        """What is agreed about rounds and sums."""
        return self.blueprint.study

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
        terms = Terms.from_config(study.config, study.algorithm, study.options, self.file.wire_name)
        if terms is None or self.file.metrics == "none":
            return terms
        from secure_sapefl.privacy.counts import multiplier_of_results

        return replace(terms, results=multiplier_of_results(terms.budget))


def _task(file: StudyFile) -> Task:
    """The one the schema's labels are for."""
    return with_weights(BY_LABELS[file.data.label_is.kind], file.class_weights, len(file.data.label_names))


def _declared(file: StudyFile) -> DeclaredModel | None:
    return None if file.code is None else file.code.declared(_task(file).outputs(len(file.data.label_names)))


def _check(file: StudyFile, algorithm: Algorithm) -> None:
    if file.kind == "statistics":
        raise StudyRejected(f"Study {file.name!r} is a Table 1: it has no model. Its table is in the site's folder.")
    if algorithm.homomorphic is Homomorphic.SILENT:
        raise StudyRejected(f"{algorithm.title} sends nothing: there is no study to run. Choose another method.")
    if file.privacy is not None and isinstance(algorithm.releases, NotPrivate):
        raise StudyRejected(f"{algorithm.title} has no differentially private form: {algorithm.releases.reason}")
    if file.privacy is not None and file.metrics != "none" and algorithm.homomorphic is not Homomorphic.WEIGHTED_SUM:
        raise StudyRejected(
            f"{algorithm.title} has no common model, and test results of a private study are those of one: what its "
            "training cost is paid for. Leave out --metrics."
        )

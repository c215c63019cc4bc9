"""A study in which sites only count: a Table 1, or what they agree on a preparation by before they train.

Both are one round of `protocol/counting.py`. What comes before the training of a study is a study of its own to the
network: it has a digest, and so a wire name, that follow from the digest of the whole.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sapefl_crypto import Parameters
from sapefl_crypto.joint.plan import JointPlan
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.tally import CountPlan, by_class
from secure_sapefl.errors import StudyRejected
from secure_sapefl.privacy.events import PREPARATION, TABLE_ONE, Budget
from secure_sapefl.protocol.counting import counting_study
from secure_sapefl.protocol.study import Study
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.round_terms import RoundTerms, plan_of
from secure_sapefl.study.terms import StudyTerms

if TYPE_CHECKING:
    from secure_sapefl.privacy.counts import CountNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingTerms(RoundTerms):
    """``file`` is what messages are bound to; ``payer`` the study whose budget and ledger lines these are."""

    file: StudyFile
    payer: StudyFile
    params: Parameters | JointPlan
    counting: Study
    plan: CountPlan
    release: str  # as ledgers call it

    shared: None = None  # noise is each site's own

    @classmethod
    def of_table_one(cls, file: StudyFile) -> "CountingTerms":
        """A study of kind statistics."""
        return cls._made(file, file, by_class(_table(file)), TABLE_ONE)

    @classmethod
    def before_training(cls, file: StudyFile) -> "CountingTerms | None":
        """What the sites of a study do before its first round; None where they have nothing to agree on."""
        if file.preparation != "common":
            return None
        alone = {"kind": "statistics", "rounds": 1, "participation": 1.0, "preparation": None, "metrics": "none"}
        about = file.model_copy(update={**alone, "purpose": f"preparation of study {file.digest}"})
        return cls._made(about, file, CountPlan(_table(file).features), PREPARATION)

    @classmethod
    def _made(cls, file: StudyFile, payer: StudyFile, plan: CountPlan, release: str) -> "CountingTerms":
        study = counting_study(
            file.wire_name,
            file.sites,
            entries=plan.entries,
            least=file.min_cohort,
            keys=file.keys,
            colluders=file.colluders,
            seed=file.seed,
        )
        return cls(file=file, payer=payer, counting=study, params=plan_of(file), plan=plan, release=release)

    @property
    def study(self) -> Study:
        return self.counting

    @property
    def consented(self) -> StudyFile:
        return self.payer

    @property
    def budget(self) -> Budget | None:
        """Of the whole study; None where it has none."""
        privacy = self.payer.privacy
        return None if privacy is None else Budget(privacy.epsilon, privacy.delta)

    @property
    def multiplier(self) -> float | None:
        """Of the noise on each site's counts."""
        if self.budget is None:
            return None
        from secure_sapefl.privacy.counts import multiplier_of, multiplier_of_preparation  # the server needs no Opacus

        return multiplier_of(self.budget) if self.release == TABLE_ONE else multiplier_of_preparation(self.budget)

    @property
    def noise(self) -> "CountNoise":
        from secure_sapefl.privacy.counts import CountNoise

        return CountNoise(columns=len(self.plan.features), of_records=self.plan.of_records)


def any_terms(file: StudyFile) -> StudyTerms | CountingTerms:
    """Whatever the study is for."""
    return CountingTerms.of_table_one(file) if file.kind == "statistics" else StudyTerms.from_file(file)


def _table(file: StudyFile) -> TableSchema:
    if not isinstance(file.data, TableSchema):
        raise StudyRejected(f"Study {file.name!r} is of images: there is nothing to count. Leave out preparation.")
    return file.data

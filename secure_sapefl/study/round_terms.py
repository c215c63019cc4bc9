"""What server and sites know of a study's rounds, whatever they are for: training (`StudyTerms`) or counting."""

from abc import abstractmethod
from collections.abc import Mapping

from sapefl_crypto import Parameters
from sapefl_crypto.joint import drawing
from sapefl_crypto.joint.plan import JointPlan
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import Study
from secure_sapefl.study.file import StudyFile


class RoundTerms:
    """Public: it holds no key and no record."""

    __slots__ = ()
    file: StudyFile
    params: Parameters | JointPlan

    @property
    @abstractmethod
    def study(self) -> Study:
        """What is agreed about rounds and sums."""

    @property
    def consented(self) -> StudyFile:
        """The study that owners consent to: this one, or the one it belongs to."""
        return self.file

    @property
    def draws_committees(self) -> bool:
        """Whether some sites sit on a round's committee and others do not."""
        study = self.study
        return study.keys == "joint" and not study.relay_only and len(study.sites) > drawing.ALL_SIT_UP_TO

    def joint(self, nonces: Mapping[SiteId, bytes] | None = None) -> JointTerms:
        """What follows from joint keys; ``nonces`` are needed where committees are drawn (`consents.py`)."""
        assert isinstance(self.params, JointPlan), "a study with shared keys has no committee"
        known = dict.fromkeys(self.file.sites, b"") if nonces is None else nonces
        return JointTerms(study=self.study, plan=self.params, roster=self.file.keys_by_name, nonces=known)


def plan_of(file: StudyFile) -> Parameters | JointPlan:
    """Of the encryption; the key that sites have must be made for it."""
    plan = Parameters.exact if file.keys == "shared" else Parameters.joint
    return plan(max_clients=file.protection.max_clients, max_abs_value=file.protection.max_abs_value)

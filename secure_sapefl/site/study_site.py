"""One site's half of a deployed study: the protocol's own functions around a group of one.

Nothing is sent here and nothing is written down: `agent.py` decides what may leave and in which order it is recorded.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload
from secure_sapefl.protocol.results import least_senders, result_counts, results_plan
from secure_sapefl.protocol.site import GroupRound, absorb, concluded, open_peers
from secure_sapefl.protocol.sums import Counts, SumOfCounts
from secure_sapefl.site.evaluation.judged import Judged, judge
from secure_sapefl.site.evaluation.paid_results import paid_results
from secure_sapefl.site.evaluation.subgroups import Subgroup
from secure_sapefl.site.keys import SharedKey, SiteKeys
from secure_sapefl.site.own_model import common_model, personal_model
from secure_sapefl.site.policy import Policy
from secure_sapefl.site.state import SiteState
from secure_sapefl.site.trainer.training import Asked, Training
from secure_sapefl.study.terms import StudyTerms

if TYPE_CHECKING:
    from secure_sapefl.privacy.study import StudyPrivacy


class StudySite:
    """``state`` is where the site stands; each method that moves it on returns the new one, for the agent to keep.

    Keys are here, in ``training`` are the records; what is opened goes there, and what comes back is protected.
    """

    def __init__(
        self,
        terms: StudyTerms,
        training: Training,
        keys: SiteKeys,
        policy: Policy,
        privacy: "StudyPrivacy | None" = None,
        groups: tuple[Subgroup, ...] = (),
    ) -> None:
        self._terms, self.keys, self.policy, self.privacy = terms, keys, policy, privacy
        self.training, self.name, self._groups = training, training.site, groups

    def first_state(self) -> SiteState:
        """Where every site of the study begins: at weights that follow from its seed."""
        blueprint, theta = self._terms.blueprint, self.training.theta_initial
        return SiteState(
            study=self._terms.file.digest,
            site=self.name,
            absorbed=-1,
            answered=-1,
            theta_global=blueprint.algorithm.initial_global(theta, blueprint.options),
            own=blueprint.algorithm.initial_state(theta, 1),
        )

    def load_state(self, path: Path) -> SiteState:
        if not path.exists():
            return self.first_state()
        return SiteState.load(path, study=self._terms.file.digest, site=self.name)

    def absorb(self, state: SiteState, outcome: RoundOutcome, sent: RoundUpload | None) -> Tensor:
        """The global model after a round, or `AggregateRejected`. ``sent`` is what this site sent in that round."""
        blueprint = self._terms.blueprint
        return absorb(
            state.theta_global,
            outcome,
            self.keys.sums(self.policy, sent),
            blueprint.study.name,
            lambda theta, mean: blueprint.algorithm.global_step(theta, mean, blueprint.options),
        )

    def judged(self, state: SiteState) -> Judged:
        """This site's own model and the common one, as ``state`` has them, on the rows this site holds back."""
        own, y = self.training.on_test_rows(personal_model(self.training, state))
        common = common_model(self._terms, state)
        outputs = None if common is None else self.training.on_test_rows(common)[0]
        return judge(max(state.absorbed, 0), y, own, outputs, self._groups, self._terms.blueprint.task.metrics)

    def results(self, state: SiteState, judged: Judged | None) -> Counts | None:
        """What may leave of test results, before it is encrypted: of the own model, or, in a private study, of the
        common one, noised and paid for. None where nothing can be said, or paid."""
        if self.privacy is None:
            return None if judged is None else result_counts(judged.own)
        common = common_model(self._terms, state)
        assert common is not None, "a private study whose results leave has a common model"
        return paid_results(self._terms, self.privacy, *self.training.on_test_rows(common))

    def protected_results(self, counts: Counts) -> bytes:
        """This site's test results, for the server to add to the others'."""
        return self._results_plan.protected(self._shared.equal_sums(self.policy), counts, self.name)

    def opened_results(self, aggregate: bytes, sent: bytes | None) -> Counts:
        """The sum over sites, or `AggregateRejected`; ``sent`` is this site's own frame."""
        return self._results_plan.opened(self._shared.equal_sums(self.policy, sent), aggregate)

    @property
    def _shared(self) -> SharedKey:
        assert isinstance(self.keys, SharedKey), "a study with joint keys sums no results"
        return self.keys

    @property
    def _results_plan(self) -> SumOfCounts:
        least = max(least_senders(self._terms.file.min_cohort), self.policy.min_cohort)
        noised = self.privacy is not None
        return results_plan(self._shared.key.params, self._terms.blueprint.study, least, noised=noised)

    def take_part(
        self, state: SiteState, invitation: Invitation
    ) -> tuple[RoundUpload | None, dict[str, Tensor], tuple[Refusal, ...]]:
        """The site's round: what would leave, what it keeps, and whose model (perhaps its own) was no good."""
        own = self.late_start(state) if self._came_late(state, invitation) else state.own
        asked, refusals = self._asked(state, own, invitation)
        withheld = self._withheld_score(asked.peers)
        result = concluded(self.training.contribution(asked), [self.name], private=self.privacy is not None)
        upload = None
        for answer in result.answers:
            sent = replace(answer, similarity_score=0.0) if withheld else answer
            upload = self.keys.protect(sent, invitation)
        return upload, _kept(own, result), (*refusals, *withheld, *result.refusals)

    def _withheld_score(self, peers: Peers) -> tuple[Refusal, ...]:
        """Why the score stays here: the sum over one peer is that peer's similarity, which is nobody's business. A
        score of 0 leaves the update out of the sum; the model still travels, so that peers have one next time."""
        blueprint, count, least = self._terms.blueprint, int(peers.received.sum()), self.policy.min_peers
        if not blueprint.algorithm.relays_models or blueprint.study.relay_only or count >= least:
            return ()
        return (Refusal(self.name, f"sent without a score: {count} peers' models, the policy asks for {least}."),)

    def join_late(self, state: SiteState, invitation: Invitation) -> tuple[dict[str, Tensor], tuple[Refusal, ...]]:
        """A round after the last one, for the site's own model. Nothing of it leaves, so it needs no noise."""
        asked, refusals = self._asked(state, self.late_start(state), invitation)
        result = concluded(self.training.at_home(asked), [self.name], private=False)
        return _kept(asked.own, result), (*refusals, *result.refusals)

    def late_start(self, state: SiteState) -> dict[str, Tensor]:
        """Where a site begins that the others did not wait for: at the global model, as it is by now."""
        theta = state.theta_global[: self.training.theta_initial.numel()]
        return self._terms.blueprint.algorithm.initial_state(theta, 1)

    def _came_late(self, state: SiteState, invitation: Invitation) -> bool:
        """Whether earlier rounds wanted this site, and it took part in none. One that is drawn for the first time
        begins where everybody began, as in a simulation."""
        study, place = self._terms.blueprint.study, self._terms.file.index(self.name)
        return state.untrained and any(place in study.cohort(index) for index in range(invitation.round_index))

    def _asked(
        self, state: SiteState, own: Mapping[str, Tensor], invitation: Invitation
    ) -> tuple[Asked, tuple[Refusal, ...]]:
        peers, refusals = self._peers(invitation)
        index = invitation.round_index
        return Asked(round_index=index, theta_global=state.theta_global, own=own, peers=peers), refusals

    def _peers(self, invitation: Invitation) -> tuple[Peers, tuple[Refusal, ...]]:
        initial = self.training.theta_initial
        if not self._terms.blueprint.algorithm.relays_models:
            return Peers.nobody(1, initial), ()
        _, peers, refusals = open_peers([invitation], initial, self.keys.models(), self._terms.blueprint.study.name)
        return peers, refusals


def _kept(own: Mapping[str, Tensor], result: GroupRound) -> dict[str, Tensor]:
    """What the site keeps after a round: what it kept before, where the round did not go well."""
    if not result.healthy[0]:
        return dict(own)
    return {**own, **{name: values.cpu() for name, values in result.contribution.state.items()}}

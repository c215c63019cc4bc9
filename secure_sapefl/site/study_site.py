"""One site's half of a deployed study: the protocol's own functions around a group of one.

Nothing is sent here and nothing is written down: `agent.py` decides what may leave and in which order it is recorded.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sapefl_crypto import CohortKey, OwnPart
from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.data import ClientData
from secure_sapefl.protocol.answer import protect
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload
from secure_sapefl.protocol.site import GroupRound, absorb, open_peers, run_round
from secure_sapefl.site.own_model import CPU, own_sites
from secure_sapefl.site.policy import Policy
from secure_sapefl.site.state import SiteState
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.study.terms import StudyTerms

if TYPE_CHECKING:
    from secure_sapefl.privacy.study import StudyPrivacy


class StudySite:
    """``state`` is where the site stands; each method that moves it on returns the new one, for the agent to keep.

    States live in main memory; rows, models and training on ``device``.
    """

    def __init__(
        self,
        terms: StudyTerms,
        rows: ClientData,
        key: CohortKey,
        policy: Policy,
        privacy: "StudyPrivacy | None",
        device: torch.device = CPU,
    ) -> None:
        self._terms, self._key, self.policy, self.privacy = terms, key, policy, privacy
        self.sites, self.device = own_sites(terms, rows, device), device
        self.name = rows.name

    def first_state(self) -> SiteState:
        """Where every site of the study begins: at weights that follow from its seed."""
        blueprint = self._terms.blueprint
        return SiteState(
            study=self._terms.file.digest,
            site=self.name,
            absorbed=-1,
            answered=-1,
            theta_global=blueprint.algorithm.initial_global(self.sites.theta_initial.cpu(), blueprint.options),
            own=dict(self.sites.state),
        )

    def load_state(self, path: Path) -> SiteState:
        if not path.exists():
            return self.first_state()
        return SiteState.load(path, study=self._terms.file.digest, site=self.name)

    def absorb(self, state: SiteState, outcome: RoundOutcome, sent: RoundUpload | None) -> Tensor:
        """The global model after a round, or `AggregateRejected`. ``sent`` is what this site sent in that round."""
        blueprint = self._terms.blueprint
        claims = self.policy.claims(self._own_part(sent), blueprint.study.least_contributors)
        codec = CkksCodec(self._key, claims)
        return absorb(
            state.theta_global,
            outcome,
            codec,
            blueprint.study.name,
            lambda theta, mean: blueprint.algorithm.global_step(theta, mean, blueprint.options),
        )

    def take_part(
        self, state: SiteState, invitation: Invitation
    ) -> tuple[RoundUpload | None, dict[str, Tensor], tuple[Refusal, ...]]:
        """The site's round: what would leave, what it keeps, and whose model (perhaps its own) was no good."""
        own = {
            name: tensor.clone() for name, tensor in state.own.items()
        }  # a round that comes to nothing moves nothing
        self.sites.state = self.late_start(state) if self._came_late(state, invitation) else own
        group, refusals = self._group(state, invitation)
        withheld = self._withheld_score(group.peers)
        result = self._run(group if self.privacy is None else self.privacy.protect(group, [0]))
        upload = None
        for answer in result.answers:
            sent = replace(answer, similarity_score=0.0) if withheld else answer
            upload = protect(sent, CkksCodec(self._key), self._terms.blueprint.study, invitation.round_index)
        return upload, dict(self.sites.state), (*refusals, *withheld, *result.refusals)

    def _withheld_score(self, peers: Peers) -> tuple[Refusal, ...]:
        """Why the score stays here: the sum over one peer is that peer's similarity, which is nobody's business. A
        score of 0 leaves the update out of the sum; the model still travels, so that peers have one next time."""
        blueprint, count, least = self._terms.blueprint, int(peers.received.sum()), self.policy.min_peers
        if not blueprint.algorithm.relays_models or blueprint.study.relay_only or count >= least:
            return ()
        return (Refusal(self.name, f"sent without a score: {count} peers' models, the policy asks for {least}."),)

    def join_late(self, state: SiteState, invitation: Invitation) -> tuple[dict[str, Tensor], tuple[Refusal, ...]]:
        """A round after the last one, for the site's own model. Nothing of it leaves, so it needs no noise."""
        self.sites.state = self.late_start(state)
        group, refusals = self._group(state, invitation)
        result = self._run(group)
        return dict(self.sites.state), (*refusals, *result.refusals)

    def late_start(self, state: SiteState) -> dict[str, Tensor]:
        """Where a site begins that the others did not wait for: at the global model, as it is by now."""
        theta = state.theta_global[: self.sites.theta_initial.numel()]
        return self._terms.blueprint.algorithm.initial_state(theta, 1)

    def _came_late(self, state: SiteState, invitation: Invitation) -> bool:
        """Whether earlier rounds wanted this site, and it took part in none. One that is drawn for the first time
        begins where everybody began, as in a simulation."""
        study, place = self._terms.blueprint.study, self._terms.file.index(self.name)
        return state.untrained and any(place in study.cohort(index) for index in range(invitation.round_index))

    def _group(self, state: SiteState, invitation: Invitation) -> tuple[SiteGroup, tuple[Refusal, ...]]:
        peers, refusals = self._peers(invitation)
        theta_global = state.theta_global.to(self.device)
        return self.sites.group([0], theta_global, invitation.round_index, peers, Stopwatch()), refusals

    def _peers(self, invitation: Invitation) -> tuple[Peers, tuple[Refusal, ...]]:
        initial = self.sites.theta_initial
        if not self._terms.blueprint.algorithm.relays_models:
            return Peers.nobody(1, initial), ()
        _, peers, refusals = open_peers([invitation], initial, CkksCodec(self._key), self._terms.blueprint.study.name)
        return peers, refusals

    def _run(self, group: SiteGroup) -> GroupRound:
        blueprint = self._terms.blueprint
        result = run_round(blueprint.algorithm, blueprint.options, group, [self.name])
        self.sites.keep([0], result)
        return result

    def _own_part(self, sent: RoundUpload | None) -> OwnPart | None:
        if sent is None or sent.update is None:
            return None
        return OwnPart(
            frame=sent.update,
            score=sent.similarity_score,
            max_score=self._terms.blueprint.study.max_score,
            may_be_left_out=True,  # it may have come after the round's deadline
        )

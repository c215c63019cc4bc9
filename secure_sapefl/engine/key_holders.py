"""All simulated sites together, as holders of keys: what they have in common, and their half of a round.

The server's half is `protocol.server.Server`, which the simulator hands nothing from here but messages.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.engine.assembly import Assembly
from secure_sapefl.engine.events import SERVER, AggregateOpened, Observer, SitesTrained, tell
from secure_sapefl.engine.privacy import Privacy
from secure_sapefl.engine.ranks import ALONE, Ranks
from secure_sapefl.engine.shares import Trained
from secure_sapefl.engine.sites import Keep
from secure_sapefl.engine.uploads import Uploads
from secure_sapefl.engine.workers import Protector
from secure_sapefl.metrics import Scores
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, SealedModel, SiteId
from secure_sapefl.protocol.site import absorb, open_peers, require_contributors, run_round
from secure_sapefl.stopwatch import Stopwatch


class KeyHolders:
    def __init__(self, assembly: Assembly, codec: SiteCodec, privacy: Privacy, ranks: Ranks = ALONE) -> None:
        blueprint, self._ranks = assembly.blueprint, ranks
        self._config, self._study = blueprint.config, blueprint.study
        self._algorithm, self._options = blueprint.algorithm, blueprint.options
        self._sites, self._device = assembly.sites, assembly.device
        self._largest_group = ranks.from_first(lambda: assembly.group_size)  # it depends on a machine's free memory
        self._codec, self._privacy = codec, privacy
        self.theta_global = self._algorithm.initial_global(self._sites.theta_initial, self._options)
        self.scored: dict[SiteId, Tensor] = {}  # what sites used when they were scored for the last time
        self.validation: float | None = None  # of the last evaluation, where rows are held back for it
        self._shown = blueprint.task.metrics[:1]  # what a round's record says of the global model
        self._last_upload = torch.full((len(self._sites.names),), -1)

    def answer(
        self,
        round_index: int,
        invitations: Sequence[Invitation],
        protector: Protector,
        uploads: Uploads,
        clock: Stopwatch,
        observers: Sequence[Observer],
    ) -> None:
        """Every invited site's half, group by group; one group's uploads are encrypted while the next one trains."""
        names, place = self._sites.names, {name: c for c, name in enumerate(self._sites.names)}
        position = {invitation.site: i for i, invitation in enumerate(invitations)}
        with clock.phase("decrypt"):
            owners, peers, refusals = self.peers(invitations)
        uploads.refuse(refusals)
        admitted, refusals = self._privacy.admit(round_index, [place[i.site] for i in invitations])
        uploads.refuse(refusals)
        train = partial(self._trained, round_index, position, peers, protector, clock)
        groups = list(self._sites.groups(admitted, self._group_size(len(admitted))))
        for done in self._ranks.map(train, groups, Trained):
            self._sites.keep(done.part, done.result, done.memory)
            here, trained = tuple(names[c] for c in done.part), done.result.contribution
            tell(observers, SitesTrained(round_index=round_index, sites=here, peers=owners, contribution=trained))
            uploads.refuse(done.result.refusals)
            for site, upload in done.uploads:
                uploads.put(site, upload)
            uploads.accept_finished()
        uploads.accept_all()
        for site in self._ranks.from_first(lambda: [upload.site for upload in uploads.accepted]):
            self._last_upload[place[site]] = round_index

    def _trained(
        self,
        round_index: int,
        position: Mapping[SiteId, int],
        peers: Peers,
        protector: Protector,
        clock: Stopwatch,
        part: list[int],
    ) -> Trained:
        """A group's half. Its uploads may still be under way."""
        here = tuple(self._sites.names[c] for c in part)
        theirs = peers.for_sites([position[name] for name in here])
        group = self._sites.group(part, self.theta_global, round_index, theirs, clock)
        result = run_round(self._algorithm, self._options, self._privacy.protect(group, part), here)
        with clock.phase("encrypt"):
            uploads = [(one.site, protector.submit(one, self._study, round_index)) for one in result.answers]
        return Trained(part, result, group.memory, uploads)

    def _group_size(self, sites: int) -> int:
        """So many that every rank has a group to train, unless somebody says how many."""
        if self._config.group_size is not None:
            return self._config.group_size
        return max(1, min(self._largest_group, -(-sites // self._ranks.count)))

    def peers(self, invitations: Sequence[Invitation]) -> tuple[tuple[SiteId, ...], Peers, Sequence[Refusal]]:
        """Whose models the invited sites have at hand, who was given which, and whose was no good."""
        if not self._algorithm.relays_models:
            return (), Peers.nobody(len(invitations), self._sites.theta_initial), ()
        return open_peers(invitations, self._sites.theta_initial, self._codec, self._study.name)

    def absorb(self, outcome: RoundOutcome, observers: Sequence[Observer]) -> RoundOutcome:
        """Take the global step. A sum that is not the claimed one leaves the sites where they were, and is named."""
        before = self.theta_global
        try:
            require_contributors(outcome, self._study.least_contributors)
            self.theta_global = absorb(before, outcome, self._codec, self._study.name, self._step)
        except AggregateRejected as error:
            refusals = (*outcome.refusals, Refusal(SERVER, f"its sum was rejected by the sites. {error}"))
            return replace(outcome, aggregate=None, weights=(), refusals=refusals)
        if outcome.aggregate is not None:
            theta_global = self.theta_global.cpu().clone()
            tell(observers, AggregateOpened(round_index=outcome.round_index, theta_global=theta_global))
        return outcome if self.theta_global is not before else replace(outcome, weights=())

    def _step(self, theta_global: Tensor, mean: Tensor) -> Tensor:
        return self._algorithm.global_step(theta_global, mean, self._options)

    def evaluate(self, round_index: int) -> tuple[Scores, Scores]:
        """Own models and the global one, every so many rounds and after the last; nothing in between."""
        self.validation = None
        rounds, every = self._config.rounds, self._config.evaluate_every
        if (round_index + 1) % every and round_index + 1 < rounds:
            return self._sites.scores([]), self._sites.scores([])
        if round_index + 1 < rounds and self._config.early_stopping is None:
            return self._evaluated(round_index)
        found = self._evaluated(round_index, self.scored.__setitem__)
        if self._config.early_stopping is not None:
            self.validation = self._sites.validated(self.scored)
        return found

    def _evaluated(self, round_index: int, keep: Keep | None = None) -> tuple[Scores, Scores]:
        size = self._group_size(len(self._sites.names))
        return self._sites.evaluate(self.theta_global, round_index, size, keep, self._ranks, self._shown)

    def tensors(self) -> dict[str, Tensor]:
        """All they hold, for a checkpoint."""
        common = {"theta_global": self.theta_global.cpu(), "last_upload": self._last_upload}
        return {**self._sites.state, **self._sites.memory.tensors(), **common}

    def restore(self, tensors: dict[str, Tensor]) -> Iterator[SealedModel]:
        """Stand where a saved run stood; yields what the server relays, sealed under this run's key."""
        self.theta_global = tensors.pop("theta_global").to(self._device)
        self._last_upload = tensors.pop("last_upload")
        self._sites.memory.restore(tensors)
        self._sites.state = tensors
        for c, last in enumerate(self._last_upload.tolist()):
            if self._algorithm.relays_models and last >= 0:
                name, theta = self._sites.names[c], tensors["theta_personal"][c].numpy()
                blob = self._codec.seal(theta, study=self._study.name, round_index=last, sender=name)
                yield SealedModel(sender=name, round_index=last, blob=blob)

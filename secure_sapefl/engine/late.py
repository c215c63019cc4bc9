"""Sites that join after training: one round against what the study has left behind, and whether it paid.

A late site starts from the global model. It is invited like any other, with the sealed models of existing peers, and
runs the method's own round; what it would send is protected, measured and dropped, so nothing of it reaches the others.
A method whose sites keep nothing between rounds (FedAvg, with or without fine-tuning, Per-FedAvg) has no round to run:
the site takes the global model and makes its own of it. In a private study a late site has a ledger like everybody and
plans for the one round it is here for.

It is held against what it could have had without joining: the same number of epochs alone, the global model as it is,
and the global model trained that many epochs further.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from torch import Tensor

from sapefl_crypto.errors import CryptoError
from secure_sapefl.algorithms import fedavg_ft
from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.config import Settings
from secure_sapefl.data import Federation
from secure_sapefl.engine.assembly import Assembly
from secure_sapefl.engine.events import RunEvent, TrainingEnded
from secure_sapefl.engine.privacy import Privacy, Unprotected, privacy_for
from secure_sapefl.engine.protection import Protection
from secure_sapefl.engine.sites import Sites
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import Scores
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.messages import Invitation, Refusal, SealedModel, SiteId
from secure_sapefl.protocol.server import invitation_to
from secure_sapefl.protocol.site import open_peers, run_round
from secure_sapefl.stopwatch import Stopwatch


def epochs_of(algorithm: Algorithm, options: Settings, local_epochs: int) -> int:
    """How long a site trains in a round of the method, all its trainings together; at least E."""
    if isinstance(algorithm.releases, NotPrivate):
        return local_epochs
    trainings = algorithm.releases(options, local_epochs).trainings
    return max(local_epochs, sum(training.epochs for training in trainings))


class LateSites:
    """An observer of the run: when training has ended, they join. ``outcome`` is `summary.json`'s ``late_clients``."""

    def __init__(self, assembly: Assembly, federation: Federation, protection: Protection) -> None:
        blueprint = assembly.blueprint
        config, self._study = blueprint.config, blueprint.study
        self._algorithm, self._options = blueprint.algorithm, blueprint.options
        self._round, self._group_size, self._protection = config.rounds, assembly.group_size, protection
        self._epochs = epochs_of(self._algorithm, self._options, config.local_epochs)
        self._sites = Sites(blueprint, federation, assembly.device)
        as_long = fedavg_ft.FineTuningOptions(epochs=self._epochs)
        alone = replace(blueprint, algorithm=fedavg_ft.ALGORITHM, options=as_long)
        self._alone = Sites(alone, federation, assembly.device)
        once = replace(blueprint, config=config.model_copy(update={"rounds": 1, "participation": 1.0}))
        self._privacy: Privacy = Unprotected()  # under shared noise a late site trains at home, and sends nothing
        try:
            if assembly.shared is None:
                self._privacy = privacy_for(once, self._sites, learned=federation.learned)
        except BadInput as error:
            raise BadInput(f"Of the late sites: {error}") from None
        self.outcome: Mapping[str, Any] | None = None
        self.scored: dict[SiteId, Tensor] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._privacy.close()

    def hear(self, event: RunEvent) -> None:
        """They join once: in a run that is resumed after its end, the outcome is known."""
        if isinstance(event, TrainingEnded) and self.outcome is None:
            self.outcome = self._join(event.theta_global.to(self._sites.theta_initial.device), event.models)

    def _join(self, theta_global: Tensor, relayed: Mapping[SiteId, SealedModel]) -> dict[str, Any]:
        model = theta_global[: self._sites.theta_initial.numel()]
        self._sites.state = self._algorithm.initial_state(model.cpu(), len(self._sites.names))
        invitations = self._invitations(relayed)
        refusals: list[Refusal] = []
        sent = self._joined(invitations, theta_global, refusals) if self._sites.state else []
        own, everywhere = self._sites.evaluate(theta_global, self._round, self._group_size, self.scored.__setitem__)
        local, _ = self._alone.evaluate(self._sites.theta_initial, self._round, self._group_size)
        tuned, _ = self._alone.evaluate(model, self._round, self._group_size)
        trained = self._algorithm.homomorphic is Homomorphic.WEIGHTED_SUM  # otherwise there is no global model
        return {
            "names": list(self._sites.names),
            "rows": list(self._sites.sizes),
            "epochs": self._epochs,
            "peers": [len(invitation.peers) for invitation in invitations],
            **_scores(own),
            "local_only": _scores(local),
            "global_model": _scores(everywhere) if trained else None,
            "global_fine_tuned": _scores(tuned) if trained else None,
            "bytes": {
                "up": sum(sent) / len(self._sites.names),
                "down": sum(invitation.size for invitation in invitations) / len(invitations),
            },
            "privacy": self._privacy.summary(),
            "refused": [{"site": refusal.site, "reason": refusal.reason} for refusal in refusals],
        }

    def _invitations(self, relayed: Mapping[SiteId, SealedModel]) -> list[Invitation]:
        """As the server would address them: a late site stands behind the study's roster."""
        study, index = self._study, self._round
        return [
            invitation_to(study, name, index, [study.sites[c] for c in study.late_peers_of(place, index)], relayed)
            for place, name in enumerate(self._sites.names, start=len(study.sites))
        ]

    def _joined(self, invitations: Sequence[Invitation], theta_global: Tensor, refusals: list[Refusal]) -> list[int]:
        """Every late site's round, of whom can pay for it; the bytes each would send."""
        sites, names, sent = self._sites, self._sites.names, []
        _, peers, bad = open_peers(invitations, sites.theta_initial, self._protection.codec(), self._study.name)
        if not self._algorithm.relays_models:
            peers = Peers.nobody(len(names), sites.theta_initial)
        admitted, unpaid = self._privacy.admit(self._round, range(len(names)))
        refusals += (*bad, *unpaid)
        for part in sites.groups(admitted, self._group_size):
            group = sites.group(part, theta_global, self._round, peers.for_sites(part), Stopwatch())
            result = run_round(
                self._algorithm, self._options, self._privacy.protect(group, part), [names[c] for c in part]
            )
            sites.keep(part, result)
            refusals += result.refusals
            sent += [self._size(answer, refusals) for answer in result.answers]
        return sent

    def _size(self, answer: Answer, refusals: list[Refusal]) -> int:
        try:
            return self._protection.protect(answer, self._study, self._round).size
        except CryptoError as error:  # the site itself would refuse to send, for instance an update outside the bound
            refusals.append(Refusal(answer.site, str(error)))
            return 0


def _scores(scores: Scores) -> dict[str, Any]:
    """Accuracy and AUC have keys of their own, null where the task has no such thing."""
    found = scores.to_json()
    return {"accuracy": found.get("accuracy"), "auc": found.get("auc"), "metrics": found}

"""The parties of a study, each with what it is handed and what it can open.

A party hears the run round by round and keeps what it could make out: models, updates, scores. It opens frames with
what it holds and with nothing else. A server of an encrypted run tries as hard as one of a plaintext run, and fails.
Of a site's many messages the latest is kept, so memory does not grow with rounds; only global models are all kept,
where an update follows from a model of an earlier round.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sapefl_crypto.errors import CryptoError
from secure_sapefl.audit.recording import PublicTerms, RoundMessages
from secure_sapefl.protocol.codec import SiteCodec, Vector
from secure_sapefl.protocol.messages import RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.protocol.site import absorb


@dataclass(frozen=True, slots=True)
class Update:
    """One site's update of one round, and the model it was made from."""

    round_index: int
    theta_global: Tensor  # [P]
    theta_local: Tensor  # [P]


class Party(ABC):
    """What somebody with this codec makes of what it is handed."""

    def __init__(self, name: str, terms: PublicTerms, codec: SiteCodec, site: SiteId | None = None) -> None:
        self.name, self.site, self._terms, self._codec = name, site, terms, codec
        self._theta: Tensor | None = terms.theta_initial
        self._before: dict[int, Tensor] = {}  # the global model a round began from, where updates follow from models
        self.updates: dict[SiteId, Update] = {}
        self.personal: dict[SiteId, Tensor] = {}
        self.scores: dict[SiteId, dict[int, float]] = {}

    @abstractmethod
    def hear(self, messages: RoundMessages) -> None:
        """Take in what this party is handed of a round."""

    @property
    def theta_global(self) -> Tensor | None:
        """[P], or None to a party that could not follow it, or in a study where nobody moves it."""
        follows = self._theta is not None and self._terms.whole_updates and not self._terms.study.relay_only
        return self._model(self._theta) if follows and self._theta is not None else None

    def _model(self, theta: Tensor) -> Tensor:
        return theta[: self._terms.model.parameters]

    def _hear_outcome(self, outcome: RoundOutcome) -> None:
        if self._theta is None:
            return
        if self._terms.algorithm.shows_updates:
            self._before[outcome.round_index] = self._model(self._theta)
        try:
            self._theta = absorb(self._theta, outcome, self._codec, self._terms.study.name, self._terms.step)
        except CryptoError:
            self._theta = None

    def _hear_model(self, sealed: SealedModel | None) -> None:
        if sealed is None or sealed.sender == self.site:
            return
        study, sender = self._terms.study.name, sealed.sender
        try:
            vector = self._codec.open(sealed.blob, study=study, round_index=sealed.round_index, sender=sender)
        except CryptoError:
            return
        self.personal[sender] = torch.from_numpy(vector)
        if self._terms.algorithm.shows_updates and self._theta is not None:
            before = self._before.get(sealed.round_index, self._model(self._theta))
            self.updates[sender] = Update(sealed.round_index, before, self.personal[sender])


class AtServer(Party):
    """Handed every upload: the server, or the server together with a site that lends it the key."""

    def hear(self, messages: RoundMessages) -> None:
        for upload in messages.uploads:
            if upload.site != self.site and self._terms.study.scores == "open":
                self.scores.setdefault(upload.site, {})[upload.round_index] = upload.similarity_score
            if upload.site != self.site:
                self._hear_update(upload)
            self._hear_model(upload.theta_personal)
        self._hear_outcome(messages.outcome)

    def _hear_update(self, upload: RoundUpload) -> None:
        vector = None if upload.update is None or self._theta is None else self._alone(upload.update, upload)
        if vector is None or self._theta is None or not self._terms.whole_updates:
            return
        theta = self._theta + F.pad(torch.from_numpy(vector), (0, len(self._theta) - len(vector)))
        before = self._model(self._theta)
        self.updates[upload.site] = Update(upload.round_index, before, self._model(theta))

    def _alone(self, frame: bytes, upload: RoundUpload) -> Vector | None:
        """The sum of one. It is what it claims to be, so its tags fit: only a policy on claims would refuse it."""
        adder = self._terms.new_adder(upload.round_index)
        try:
            adder.add(frame, self._terms.study.max_score, sender=upload.site)
            total = adder.finish().to_bytes()
            return self._codec.decrypt(total, study=self._terms.study.name, round_index=upload.round_index)
        except CryptoError:
            return None


class AtSite(Party):
    """Handed what one site is handed: its peers' models, and every round's sum with the weights it is claimed of."""

    def hear(self, messages: RoundMessages) -> None:
        for invitation in messages.invitations:
            if invitation.site == self.site:
                for sealed in invitation.models:
                    self._hear_model(sealed)
        for site, weight in messages.outcome.weights:
            if site != self.site and self._terms.study.scores == "open":
                self.scores.setdefault(site, {})[messages.outcome.round_index] = float(weight)
        self._hear_outcome(messages.outcome)


class NetworkObserver(Party):
    """Handed nothing it could open: the connection is encrypted once more."""

    def hear(self, messages: RoundMessages) -> None:  # noqa: ARG002 - it cannot read them
        self._theta = None

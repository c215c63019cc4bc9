"""The server's half of a round (Algorithm 1): invite, weigh and add what comes, relay. It holds no key.

The class has no method that could decrypt and is given nothing to decrypt with: in an encrypted study its aggregator is
`sapefl_crypto.Aggregator`, which is built from public parameters.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.codec import Adder
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.protocol.study import Study

_SEALED_OVERHEAD = 256  # bytes a sealed model may have beyond its numbers

AdderFactory = Callable[[int], Adder]
"""A fresh adder for a round."""

Models = MutableMapping[SiteId, SealedModel]


def invitation_to(
    site: SiteId,
    place: int,
    round_index: int,
    study: Study,
    candidates: tuple[int, ...],
    models: Mapping[SiteId, SealedModel],
) -> Invitation:
    """With the models of the site's peers, drawn from ``candidates``. ``place`` is its own on the roster, or behind."""
    peers = tuple(study.sites[j] for j in study.peers_of(place, round_index, candidates))
    relayed = tuple(models[name] for name in peers if name in models)
    return Invitation(site=site, round_index=round_index, peers=peers, models=relayed)


class Server:
    """``models`` are the ones peers are given; ``new_shelf`` makes a place where those of an open round wait."""

    def __init__(
        self, study: Study, new_adder: AdderFactory, models: Models, new_shelf: Callable[[int], Models] = lambda _: {}
    ) -> None:
        self._study = study
        self._new_adder = new_adder
        self._models = models
        self._new_shelf = new_shelf
        self._round = -1
        self._cohort: tuple[int, ...] = ()

    def open_round(self, round_index: int) -> tuple[Invitation, ...]:
        """Sample the cohort and address to each of its sites the sealed models of its peers."""
        return tuple(self.invitation(site) for site in self.begin_round(round_index))

    def begin_round(self, round_index: int) -> tuple[SiteId, ...]:
        """Sample the cohort. Invitations are large; whoever cannot hold all of them asks for one at a time."""
        self._round, self._cohort = round_index, self._study.cohort(round_index)
        self._adder = self._new_adder(round_index)
        self._contributors: list[SiteId] = []
        self._refusals: list[Refusal] = []
        self._arrived = self._new_shelf(round_index)
        pool = self._cohort if self._study.peers_from == "cohort" else range(len(self._study.sites))
        self._candidates = self._with_model(pool) if self._models else self._cohort
        return tuple(self._study.sites[c] for c in self._cohort)

    def invitation(self, site: SiteId) -> Invitation:
        """For a site of the cohort."""
        return self._addressed(site, self._round, self._candidates)

    def late_invitation(self, site: SiteId, round_index: int) -> Invitation:
        """For a site that comes after the last round: to one of its own, against whoever left a model."""
        return self._addressed(site, round_index, self._with_model(range(len(self._study.sites))))

    def _with_model(self, places: Iterable[int]) -> tuple[int, ...]:
        return tuple(c for c in places if self._study.sites[c] in self._models)

    def _addressed(self, site: SiteId, round_index: int, candidates: tuple[int, ...]) -> Invitation:
        return invitation_to(site, self._study.sites.index(site), round_index, self._study, candidates, self._models)

    @property
    def contributors(self) -> tuple[SiteId, ...]:
        """Whose uploads are in the sum of the open round."""
        return tuple(self._contributors)

    def accept(self, upload: RoundUpload) -> bool:
        """Fold one upload in. A bad one is refused by name, and the round goes on without it."""
        try:
            self._check(upload)
            if upload.update is not None:
                self._adder.add(upload.update, upload.similarity_score, sender=upload.site)
        except FrameRejected as error:
            self.refuse(upload.site, str(error))
            return False
        self._contributors.append(upload.site)
        if upload.theta_personal is not None:
            self._arrived[upload.site] = upload.theta_personal
        return True

    def refuse(self, site: SiteId, reason: str) -> None:
        self._refusals.append(Refusal(site, reason))

    def close_round(self) -> RoundOutcome:
        """Finish the sum. Personal models that came with it are what peers get from the next round on."""
        self._models.update(self._arrived)
        total = self._adder.finish() if self._contributors and not self._study.relay_only else None
        return RoundOutcome(
            round_index=self._round,
            aggregate=None if total is None else total.to_bytes(),
            weights=() if total is None else tuple(total.weights.items()),
            refusals=tuple(self._refusals),
        )

    def skip_round(self, reason: str) -> RoundOutcome:
        """End a round without a sum; what came is dropped, and peers keep the models they had."""
        refusals = (*self._refusals, Refusal("server", reason))
        return RoundOutcome(round_index=self._round, aggregate=None, weights=(), refusals=refusals)

    def _check(self, upload: RoundUpload) -> None:
        invited = {self._study.sites[c] for c in self._cohort}
        who = f"Site {upload.site!r}, round {self._round}"
        if upload.site not in invited:
            raise FrameRejected(f"{who}: not invited to this round.")
        if upload.round_index != self._round:
            raise FrameRejected(f"{who}: the upload is for round {upload.round_index}.")
        if upload.site in self._contributors:
            raise FrameRejected(f"{who}: a second upload; the first one counts.")
        if (upload.update is None) != self._study.relay_only:
            expected = "only a sealed model" if self._study.relay_only else "an update"
            raise FrameRejected(f"{who}: an upload of this study carries {expected}.")
        sealed = upload.theta_personal
        if sealed is None and self._study.relay_only:
            raise FrameRejected(f"{who}: the upload is empty; it should carry a sealed model.")
        if sealed is not None and (sealed.sender != upload.site or sealed.round_index != self._round):
            raise FrameRejected(f"{who}: its sealed model says {sealed.sender!r}, round {sealed.round_index}.")
        if sealed is not None and len(sealed.blob) > 4 * self._study.parameters + _SEALED_OVERHEAD:
            raise FrameRejected(f"{who}: a sealed model of {len(sealed.blob)} bytes is larger than the study's model.")

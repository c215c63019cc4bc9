"""The server's half of a round (Algorithm 1): invite, weigh and add what comes, relay. It holds no key.

The class has no method that could decrypt and is given nothing to decrypt with: in an encrypted study its aggregator is
`sapefl_crypto.Aggregator`, which is built from public parameters.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.codec import Adder
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.protocol.study import LARGEST_WEIGHT_RATIO, Study

_SEALED_OVERHEAD = 256  # bytes a sealed model may have beyond its numbers,
_A_READER = 256  # and for each reader, where it is sealed for readers by name

AdderFactory = Callable[[int], Adder]
"""A fresh adder for a round."""

Models = MutableMapping[SiteId, SealedModel]


def first_invitation(site: SiteId, drawn: Iterable[SiteId]) -> Invitation:
    """To the first round, where every peer stands at the initial weights and nothing needs to travel."""
    return Invitation(site=site, round_index=0, peers=tuple(drawn), models=())


def invitation_to(
    study: Study, site: SiteId, round_index: int, drawn: Iterable[SiteId], models: Mapping[SiteId, SealedModel]
) -> Invitation:
    """With the models of those peers who were drawn and have sent one that this site can open."""
    sent = (models[name] for name in drawn if name in models)
    relayed = tuple(model for model in sent if study.is_given(site, model.sender, model.round_index))
    return Invitation(
        site=site, round_index=round_index, peers=tuple(model.sender for model in relayed), models=relayed
    )


class Server:
    """``models`` are the ones peers are given; ``new_models`` makes a place for those of an open round."""

    def __init__(
        self, study: Study, new_adder: AdderFactory, models: Models, new_models: Callable[[int], Models] = lambda _: {}
    ) -> None:
        self._study = study
        self._new_adder = new_adder
        self._models = models
        self._new_models = new_models
        self._round = -1
        self._invited: frozenset[SiteId] = frozenset()
        self._places = {site: place for place, site in enumerate(study.sites)}

    def open_round(self, round_index: int) -> tuple[Invitation, ...]:
        """Sample the cohort and address to each of its sites the sealed models of its peers."""
        return tuple(self.invitation(site) for site in self.begin_round(round_index))

    def planned(self, round_index: int) -> tuple[SiteId, ...]:
        """Whom the study's seed draws for a round."""
        return self._named(self._study.cohort(round_index))

    def begin_round(self, round_index: int, left_out: Collection[SiteId] = ()) -> tuple[SiteId, ...]:
        """Sample the cohort. Invitations are large; whoever cannot hold all of them asks for one at a time.

        ``left_out`` are not invited. A round that is begun anew forgets what came; sites hand in the same again.
        """
        self._round = round_index
        cohort = tuple(site for site in self.planned(round_index) if site not in left_out)
        self._invited = frozenset(cohort)
        self._adder = self._new_adder(round_index)
        self._contributors: dict[SiteId, None] = {}  # in the order they came
        self._refusals: list[Refusal] = []
        self._arrived = self._new_models(round_index)
        return cohort

    def invitation(self, site: SiteId) -> Invitation:
        """For a site of the cohort."""
        if self._round > 0 and not self._models:  # nobody has sent a model: whose it might be need not be drawn
            return invitation_to(self._study, site, self._round, (), self._models)
        drawn = self._named(self._study.peers_of(self._place(site), self._round))
        if self._round == 0:
            return first_invitation(site, drawn)
        return invitation_to(self._study, site, self._round, drawn, self._models)

    def late_invitation(self, site: SiteId, round_index: int) -> Invitation:
        """For a site that comes after the last round: to one of its own, against peers who left a model."""
        drawn = self._named(self._study.late_peers_of(self._place(site), round_index))
        return invitation_to(self._study, site, round_index, drawn, self._models)

    def _place(self, site: SiteId) -> int:
        return self._places[site]

    def _named(self, places: Iterable[int]) -> tuple[SiteId, ...]:
        return tuple(self._study.sites[c] for c in places)

    @property
    def fewest_in_a_sum(self) -> int:
        """The study makes no sum of fewer."""
        return self._study.fewest_in_a_sum

    @property
    def contributors(self) -> tuple[SiteId, ...]:
        """Whose uploads are in the sum of the open round."""
        return tuple(self._contributors)

    @property
    def too_light(self) -> tuple[SiteId, ...]:
        """Who weighs so little beside the heaviest that sites would not use the sum."""
        weights = self._adder.weights
        heaviest = max(weights.values(), default=0)
        return tuple(site for site, weight in weights.items() if weight * LARGEST_WEIGHT_RATIO < heaviest)

    def accept(self, upload: RoundUpload) -> bool:
        """Fold one upload in. A bad one is refused by name, and the round goes on without it."""
        try:
            self._check(upload)
            self._fold(upload)
        except FrameRejected as error:
            self.refuse(upload.site, str(error))
            return False
        self._contributors[upload.site] = None
        if upload.theta_personal is not None:
            self._arrived[upload.site] = upload.theta_personal
        return True

    def _fold(self, upload: RoundUpload) -> None:
        if upload.update is not None:
            self._adder.add(upload.update, upload.similarity_score, sender=upload.site)

    def refuse(self, site: SiteId, reason: str) -> None:
        self._refusals.append(Refusal(site, reason))

    def close_round(self, least: int = 1) -> RoundOutcome:
        """Finish the sum. Personal models that came with it are what peers get from the next round on.

        Uploads with a score of 0 are in no sum. One of fewer than ``least``, or than the study asks for, would show
        them to each other, and is not made; the models go on all the same.
        """
        self._models.update(self._arrived)
        objection = self._study.objection(list(self._adder.weights.values()), least)
        if objection is not None:
            self.refuse("server", objection)
        made = self._contributors and not self._study.relay_only and objection is None
        total = self._adder.finish() if made else None
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

    @property
    def _largest_model(self) -> int:
        readers = 0 if self._study.keys == "shared" else len(self._study.sites) + len(self._study.late)
        return 4 * self._study.parameters + _SEALED_OVERHEAD + _A_READER * readers

    def _check(self, upload: RoundUpload) -> None:
        who = f"Site {upload.site!r}, round {self._round}"
        if upload.site not in self._invited:
            raise FrameRejected(f"{who}: not invited to this round.")
        if upload.round_index != self._round:
            raise FrameRejected(f"{who}: the upload is for round {upload.round_index}.")
        if upload.site in self._contributors:
            raise FrameRejected(f"{who}: a second upload; the first one counts.")
        if (upload.update is None) != self._study.relay_only:
            expected = "only a sealed model" if self._study.relay_only else "an update"
            raise FrameRejected(f"{who}: an upload of this study carries {expected}.")
        if upload.similarity_score and self._study.scores == "hidden":
            raise FrameRejected(f"{who}: sent its score in the clear; this study hides scores.")
        sealed = upload.theta_personal
        if sealed is None and self._study.relay_only:
            raise FrameRejected(f"{who}: the upload is empty; it should carry a sealed model.")
        if sealed is not None and (sealed.sender != upload.site or sealed.round_index != self._round):
            raise FrameRejected(f"{who}: its sealed model says {sealed.sender!r}, round {sealed.round_index}.")
        if sealed is not None and len(sealed.blob) > self._largest_model:
            raise FrameRejected(f"{who}: a sealed model of {len(sealed.blob)} bytes is larger than the study's model.")

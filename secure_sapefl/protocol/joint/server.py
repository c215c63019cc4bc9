"""The server of a study with joint keys: a round as ever, with the committee's legs before and after the uploads."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.openable import OpenableSum
from secure_sapefl.protocol.joint.adder import FrameStore, JointAdder
from secure_sapefl.protocol.joint.legs import CommitteeLegs, ShareStore
from secure_sapefl.protocol.joint.terms import JointTerms
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SiteId
from secure_sapefl.protocol.server import Models, Server

NewStores = Callable[[int], tuple[FrameStore, ShareStore]]
"""Places where what came in a round waits: frames, and shares."""


class JointServer(Server):
    """`press_on` leads a round from stage to stage, and has its outcome at the end."""

    def __init__(
        self,
        terms: JointTerms,
        models: Models,
        new_shelf: Callable[[int], Models] = lambda _: {},
        new_stores: NewStores = lambda _: ({}, {}),
    ) -> None:
        super().__init__(terms.study, self._joint_adder, models, new_shelf)
        self._terms, self._new_stores = terms, new_stores
        self._attempt = 0

    def begin_round(self, round_index: int, left_out: Collection[SiteId] = (), attempt: int = 0) -> tuple[SiteId, ...]:
        """The first ``attempt`` at a round is 0; another one forgets what came, and all keys are made anew."""
        self._attempt = attempt
        self._frames, shares = self._new_stores(round_index)
        self.legs = CommitteeLegs(self._terms.about(round_index, attempt), shares)
        self._summed: RoundOutcome | None = None
        return super().begin_round(round_index, left_out)

    def resume_claim(self, summed: RoundOutcome, attempt: int, able: Sequence[SiteId], arrived: Models) -> None:
        """Go on with a claim that members may have signed: no other one will ever be opened in its round.

        ``summed`` is what `claimed` was, ``able`` what `legs.able` was and ``arrived`` the models that had come, before
        the server was started anew.
        """
        assert summed.aggregate is not None
        self._round, self._attempt, self._invited, self._frames = summed.round_index, attempt, frozenset(), {}
        self.legs = CommitteeLegs(self._terms.about(summed.round_index, attempt), {})
        self.legs.restore(JointAggregate.from_bytes(summed.aggregate), able)
        self._adder, self._arrived = self._joint_adder(summed.round_index), arrived
        self._contributors, self._refusals = dict.fromkeys(dict(summed.weights)), list(summed.refusals)
        self._models.update(arrived)
        self._summed = summed

    @property
    def claimed(self) -> RoundOutcome | None:
        """The sum of the round as it was proposed to the committee; nothing opens it yet."""
        return self._summed

    def _joint_adder(self, round_index: int) -> JointAdder:
        self._joint = JointAdder(self._terms.about(round_index, self._attempt), self._frames)
        return self._joint

    def invitation(self, site: SiteId) -> Invitation:
        """With the keys of the committee, for which the site seals its shares."""
        keys = tuple(self.legs.keys[member] for member in self.legs.about.committee.members if member in self.legs.keys)
        return replace(super().invitation(site), keys=keys, attempt=self._attempt)

    def _fold(self, upload: RoundUpload) -> None:
        self.legs.take(upload)
        super()._fold(upload)  # of this class

    def refuse(self, site: SiteId, reason: str) -> None:
        """Said once, however often a leg hears it: the outcome goes to everybody."""
        if Refusal(site, reason) not in self._refusals:
            super().refuse(site, reason)

    def press_on(self, least: int = 1) -> RoundOutcome | None:
        """Close the present stage with what has come, and begin the next; the round's outcome where there is none."""
        legs = self.legs
        for member, reason in sorted(legs.declined.items()):
            self.refuse(member, f"declined as a member of the committee: {reason}")
        if not legs.enough:
            return self.stay_closed(legs.shortfall())
        match legs.stage:
            case "keys":
                legs.open_uploads()
            case "uploads":
                return self._deliver(least)
            case "deliveries":
                return self._propose(least)
            case "claim":
                legs.certify()
            case "answers":
                return self._opened(legs.openable())
        return None

    def _deliver(self, least: int) -> RoundOutcome | None:
        """Where no sum will be made, nobody needs a share."""
        weights = self._joint.weights
        if not weights or self._study.objection(list(weights.values()), least) is not None:
            return self._without_committee(least)
        self.legs.deliver(tuple(sorted(weights)))
        return None

    def _propose(self, least: int) -> RoundOutcome | None:
        for site in sorted(self.legs.to_leave_out):
            self._joint.take_out(site)
            self.refuse(site, "the shares of its key are no good: too many members of the committee cannot use them.")
        self._summed = self.close_round(least)
        if self._summed.aggregate is None:
            return self._summed
        self.legs.propose(JointAggregate.from_bytes(self._summed.aggregate))
        return None

    def _without_committee(self, least: int) -> RoundOutcome:
        outcome = self.close_round(least)
        if outcome.aggregate is None:
            return outcome
        unchanged = JointAggregate.from_bytes(outcome.aggregate)
        return replace(outcome, aggregate=OpenableSum(aggregate=unchanged).to_bytes())

    def _opened(self, total: OpenableSum) -> RoundOutcome:
        assert self._summed is not None
        return replace(self._summed, aggregate=total.to_bytes(), refusals=tuple(self._refusals))

    def stay_closed(self, reason: str) -> RoundOutcome:
        """The outcome of a round whose sum nobody will ever read; the models that came go on all the same."""
        self._models.update(self._arrived)
        refusals = (*self._refusals, Refusal("server", reason))
        return RoundOutcome(round_index=self._round, aggregate=None, weights=(), refusals=refusals)

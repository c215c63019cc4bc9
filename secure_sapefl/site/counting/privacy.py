"""What a site pays for its counts: one release, charged to the study they belong to before they are noised."""

from collections.abc import Sequence

from secure_sapefl.privacy.counts import count_event
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger import Ledger, Paid, Store
from secure_sapefl.privacy.randomness import KeyedRandomness, Randomness, SecureRandomness
from secure_sapefl.protocol.messages import Refusal, SiteId
from secure_sapefl.protocol.sums import Counts
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.study.counting import CountingTerms


class PayingCounter:
    """One site, as an agent asks it whether a round is paid for."""

    def __init__(self, name: SiteId, terms: CountingTerms, store: Store) -> None:
        assert terms.budget is not None
        assert terms.multiplier is not None
        self.name, self.ledger = name, Ledger(name, terms.budget, store)
        self.event: Event = count_event(terms.release, terms.multiplier, terms.payer.wire_name)

    def has_record(self, round_index: int) -> bool:  # noqa: ARG002 - there is one
        return self.ledger.holds([self.event])


class CountPrivacy:
    """The part of `privacy.study.StudyPrivacy` that a round of counts needs."""

    def __init__(self, name: SiteId, terms: CountingTerms, store: Store) -> None:
        self._terms, self._paid = terms, list[Paid]()
        self.sites = (PayingCounter(name, terms, store),)

    def admit(self, round_index: int, invited: Sequence[int]) -> tuple[list[int], list[Refusal]]:  # noqa: ARG002
        (site,) = self.sites
        try:
            self._paid = list(site.ledger.charge([site.event]))
        except BudgetExhausted as error:
            return [], [Refusal(site.name, str(error))]
        return [0], []

    def readmit(self, round_index: int, invited: Sequence[int]) -> None:  # noqa: ARG002
        """After a crash: the counts are paid for, and nothing of them has left."""
        (site,) = self.sites
        self._paid = list(site.ledger.reissue([site.event]))

    def noised(self, exact: Counts) -> Counts:
        return self._terms.noise.noised(exact, self._paid.pop(), self._randomness())

    def _randomness(self) -> Randomness:
        payer = self._terms.payer
        assert payer.privacy is not None
        if payer.privacy.noise == "secure":
            return SecureRandomness()
        return KeyedRandomness(stream(payer.seed, Purpose.COUNT_NOISE, site=payer.index(self.sites[0].name)))

"""A site that pays for what leaves it, whatever kind of noise hides its records."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from secure_sapefl.algorithms.releases import Releases
from secure_sapefl.privacy.accounting import Composition
from secure_sapefl.privacy.errors import BudgetExhausted
from secure_sapefl.privacy.events import OF_NO_ROUND, Budget, Event
from secure_sapefl.privacy.group import PrivateGroup
from secure_sapefl.privacy.ledger import Ledger, Paid, Store
from secure_sapefl.privacy.randomness import GeneratorName, Randomness, RandomnessFor
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.streams import Purpose


class PayingSite(Protocol):
    """One site's declared number of rows and its ledger. A kind of noise says what a round costs (`events`)."""

    name: SiteId
    rows: int
    study: str
    ledger: Ledger

    @property
    def objection(self) -> str | None:
        """Why the site never takes part."""

    def events(self, round_index: int) -> dict[Purpose, Event]:
        """All of a round's releases."""

    def reason_to_sit_out(self, round_index: int) -> str | None:
        """Why `pay` would refuse; None where it would not. Nothing is charged."""
        if self.objection is not None:
            return self.objection
        try:
            self.ledger.require_budget(list(self.events(round_index).values()))
        except BudgetExhausted as error:
            return str(error)
        return None

    def pay(self, round_index: int) -> Mapping[Purpose, Paid]:
        """All of a round's releases, charged before the first is begun; or `BudgetExhausted`, and none is."""
        if self.objection is not None:
            raise BudgetExhausted(self.objection)
        events = self.events(round_index)
        return dict(zip(events, self.ledger.charge(list(events.values())), strict=True))

    def pay_with_record(self, round_index: int) -> Mapping[Purpose, Paid]:
        """What was charged for a round before a crash, for releases that never left (`Ledger.reissue`)."""
        events = self.events(round_index)
        return dict(zip(events, self.ledger.reissue(list(events.values())), strict=True))

    def has_record(self, round_index: int) -> bool:
        """Whether exactly this round's releases are on record."""
        return self.ledger.holds(list(self.events(round_index).values()))

    def has_paid(self, round_index: int) -> bool:
        """Whether something of this round is on record; what was released before the first and after the last is of
        none."""
        place = (self.study, round_index)
        events = (event for event in self.ledger.events if event.release not in OF_NO_ROUND)
        return any((event.study, event.round_index) == place for event in events)


class AnyTerms(Protocol):
    """What all sites of a private study agree on, whatever kind of noise it has. Public."""

    @property
    def study(self) -> str: ...

    @property
    def budget(self) -> Budget: ...

    @property
    def releases(self) -> Releases: ...

    @property
    def generator(self) -> GeneratorName: ...

    def secure_source(self) -> Randomness | None:
        """Where noise comes from that nobody can repeat; None where it comes from the study's keyed streams."""

    def site(self, name: SiteId, rows: int, store: Store) -> PayingSite: ...

    def group(
        self, rows: tuple[int, ...], paid: tuple[Mapping[Purpose, Paid], ...], randomness: RandomnessFor
    ) -> PrivateGroup:
        """The mechanisms of sites that have paid."""

    def planned(self, rows: int, least_honest: int | None) -> Composition:
        """The whole study of a site that declares ``rows``, as its owner counts (`accounting.spent`)."""

    def require_somebody(self, rows: Collection[int]) -> None:
        """Refuse a study that no site could take part in, by the ``rows`` they declare."""

    def summary(self, sites: Sequence[PayingSite]) -> dict[str, Any]:
        """What this kind of noise adds to `summary.json`'s ``privacy``."""

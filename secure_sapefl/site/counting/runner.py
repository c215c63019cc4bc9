"""The rounds of counts at a running site: before the first of training, or all there is of a Table 1."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import HomeRejected
from secure_sapefl.protocol.sums import Counts
from secure_sapefl.site.agent import Agent
from secure_sapefl.site.counting.kept import CountingLedger, agreed_at, counting_folder, table_at, was_sent
from secure_sapefl.site.counting.privacy import CountPrivacy
from secure_sapefl.site.counting.site import CountingSite
from secure_sapefl.site.counting.table_files import write_table
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.key_files import site_keys
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.study import LedgerWriter
from secure_sapefl.site.privacy_store import StudyStore
from secure_sapefl.storage.files import make_private_folder
from secure_sapefl.study.counting import CountingTerms

Serve = Callable[[Agent], None]
"""Let an agent answer until its study is over, or somebody stops it."""


class Counter:
    """``count`` gives the site's own counts. Nothing is counted, and nothing paid, before the round asks for it."""

    def __init__(
        self,
        terms: CountingTerms,
        home: SiteHome,
        identity: SiteIdentity,
        passphrase: Secret | None,
        count: Callable[[], Counts],
    ) -> None:
        self._terms, self._home, self._identity = terms, home, identity
        self._passphrase, self._count = passphrase, count

    def agree(self, serve: Serve) -> bool:
        """Count with the others, once; whether sites have agreed on a preparation, and not been stopped before."""
        payer = self._terms.payer
        if agreed_at(self._home, payer) is not None:
            return True
        if self._run(serve) and agreed_at(self._home, payer) is None:
            raise HomeRejected(
                f"The sites of study {payer.name!r} came to no common preparation: fewer than {payer.min_cohort} sent "
                "their counts, or this site did not accept the sum; its ledger says which. Ask the coordinator for a "
                "new study, perhaps with preparation = public."
            )
        return agreed_at(self._home, payer) is not None

    def make_table(self, serve: Serve) -> Path | None:
        """The Table 1 in the study's folder; None where it was stopped before, or no sum was made."""
        self._run(serve)
        found = table_at(self._home, self._terms.payer)
        return None if found is None else write_table(counting_folder(self._home, self._terms), *found, self._terms)

    def _run(self, serve: Serve) -> bool:
        with SiteLedger(self._home.ledger_path, self._identity) as ledger, self.paying() as privacy:
            agent = self.agent(ledger, privacy)
            serve(agent)
            return agent.over

    def agent(self, ledger: LedgerWriter, privacy: CountPrivacy | None = None) -> Agent:
        """Without ``privacy`` for one that is only to say that it has everything."""
        terms, home = self._terms, self._home
        folder = counting_folder(home, terms)
        make_private_folder(folder)
        keys = site_keys(home, terms, self._identity, ledger, self._passphrase, folder)
        site = CountingSite(terms, home.name, self._count, keys, home.policy(), privacy)
        entries = LedgerFiles(home.ledger_path).read(home.public).entries
        sent = frozenset({0}) if was_sent(entries, terms) else frozenset[int]()
        return Agent(terms, site, self._identity, CountingLedger(ledger, terms), folder, sent)

    @contextmanager
    def paying(self) -> Iterator[CountPrivacy | None]:
        """The site's ledger of differential privacy, held; None in a study without."""
        if self._terms.multiplier is None:
            yield None
            return
        from secure_sapefl.privacy.events import Budget
        from secure_sapefl.privacy.ledger_file import FileStore

        policy = self._home.policy()
        lifetime = Budget(policy.max_epsilon_lifetime, policy.max_delta_lifetime)
        with FileStore(self._home.privacy_path) as events:
            store = StudyStore(events, self._terms.payer.wire_name, lifetime, policy.least_honest)
            yield CountPrivacy(self._home.name, self._terms, store)

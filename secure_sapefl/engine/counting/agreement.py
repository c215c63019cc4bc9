"""How the sites of a simulated study agree on one preparation of their tables, before the first round.

Each counts its training rows, noises the counts where the study is private (and has paid for that), and encrypts them;
the server adds, and sites open the total (`protocol/counting.py`). Sites that come late are not in it, and use it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from secure_sapefl.config import Agreed, Config
from secure_sapefl.data.build import Agree
from secure_sapefl.data.tables.common import agreed
from secure_sapefl.data.tables.tally import CountPlan, Counts
from secure_sapefl.engine.counting.sums import counting_round, summed
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.streams import Purpose, stream

if TYPE_CHECKING:
    from secure_sapefl.privacy.counts import CountNoise
    from secure_sapefl.privacy.ledger import Paid


def agreement(config: Config, study: str) -> Agree:
    """As the configuration asks for; a run that has agreed once uses the same again, and sums and pays nothing."""
    known = config.agreed
    return (lambda *_: known) if known is not None else (lambda counts, plan: _agree(config, study, counts, plan))


def _agree(config: Config, study: str, counts: Mapping[SiteId, Counts], plan: CountPlan) -> Agreed:
    names = tuple(counts)[: len(counts) - config.late_clients]
    about = counting_round(config, f"{study}:preparation", names, plan.entries)
    exact = {name: counts[name] for name in names}
    if config.dp_epsilon is None or config.dp_delta is None:
        return agreed(summed(exact, about, config.protection).totals, plan, sites=len(names))
    from secure_sapefl.engine.counting.table_one import noise_for  # takes seconds to import, with all of privacy

    noise = noise_for(plan)
    noised = _noised(config, exact, noise, _payments(config, study, names))
    totals = noise.total(summed(noised, about, config.protection).totals, len(names))
    return agreed(totals, plan, sites=len(names), noised=True)


def _payments(config: Config, study: str, names: Sequence[SiteId]) -> Mapping[SiteId, "Paid"]:
    from secure_sapefl.engine.counting.table_one import paid_by
    from secure_sapefl.privacy.counts import count_event, multiplier_of_preparation
    from secure_sapefl.privacy.events import PREPARATION, Budget

    assert config.dp_epsilon is not None
    assert config.dp_delta is not None
    if config.dp_noise == "shared":
        raise BadInput(
            "A common preparation is paid for with noise of each site's own. With --dp-noise shared choose "
            "--preparation public."
        )
    budget = Budget(config.dp_epsilon, config.dp_delta)
    event = count_event(PREPARATION, multiplier_of_preparation(budget), study)
    return paid_by(names, budget, event, config.dp_ledgers)


def _noised(
    config: Config, exact: Mapping[SiteId, Counts], noise: "CountNoise", payments: Mapping[SiteId, "Paid"]
) -> dict[SiteId, Counts]:
    from secure_sapefl.privacy.randomness import KeyedRandomness, SecureRandomness

    return {
        name: noise.noised(
            counts,
            payments[name],
            SecureRandomness()
            if config.dp_secure_noise
            else KeyedRandomness(stream(config.seed, Purpose.COUNT_NOISE, site=place)),
        )
        for place, (name, counts) in enumerate(exact.items())
    }

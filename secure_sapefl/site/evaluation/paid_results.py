"""Test results of a private study: counts behind them, of the common model, noised and paid for before they leave.

The common model follows from sums that were paid for, so that a training record costs nothing more here. The model that
a site keeps for itself may never have been noised; its results stay.
"""

import logging
from typing import TYPE_CHECKING

from secure_sapefl.metrics import Array
from secure_sapefl.protocol.results import row_counts
from secure_sapefl.protocol.sums import Counts
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.study.terms import StudyTerms

if TYPE_CHECKING:
    from secure_sapefl.privacy.randomness import Randomness
    from secure_sapefl.privacy.study import StudyPrivacy

_log = logging.getLogger(__name__)
_LOST = "its test results were paid for before, and are not on disk any more: one payment is one release"


def paid_results(terms: StudyTerms, privacy: "StudyPrivacy", outputs: Array, y: Array) -> Counts | None:
    """Once a study: whoever has paid, and lost what was made of it, does not make it again. None where that is so, or
    where the budget does not bear it."""
    from secure_sapefl.privacy.counts import RESULT_NOISE, count_event, multiplier_of_results
    from secure_sapefl.privacy.errors import BudgetExhausted
    from secure_sapefl.privacy.events import TEST_RESULTS

    (site,) = privacy.sites
    event = count_event(TEST_RESULTS, multiplier_of_results(site.ledger.budget), terms.file.wire_name)
    if site.ledger.holds([event]):
        _log.warning(_LOST, extra={"site": site.name})
        return None
    try:
        (paid,) = site.ledger.charge([event])
    except BudgetExhausted as error:
        _log.warning(f"test results stay: {error}", extra={"site": site.name})
        return None
    return RESULT_NOISE.noised(row_counts(outputs, y), paid, _randomness(terms, site.name))


def _randomness(terms: StudyTerms, site: str) -> "Randomness":
    from secure_sapefl.privacy.randomness import KeyedRandomness, SecureRandomness

    file = terms.file
    assert file.privacy is not None
    if file.privacy.noise == "secure":
        return SecureRandomness()
    return KeyedRandomness(stream(file.seed, Purpose.RESULT_NOISE, site=file.index(site)))

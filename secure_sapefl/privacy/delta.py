"""A delta that promises nothing, said in the same words wherever somebody chooses one."""

import warnings
from collections.abc import Sequence

from secure_sapefl.privacy.errors import PrivacyWarning


def weak_delta(delta: float, rows: Sequence[int]) -> str | None:
    """What is wrong with a delta at sites with so many records; None where it is below 1 / n at all of them."""
    weak = [count for count in rows if delta * count >= 1]
    if not weak:
        return None
    return (
        f"delta = {delta:g} is not below 1 / n at {len(weak)} of {len(rows)} sites, which have up to n = {max(weak):,} "
        f"records: publishing one record outright would satisfy it there. Choose a delta far below {1 / max(weak):.2g}."
    )


def warn_of_delta(delta: float, rows: Sequence[int]) -> None:
    if (sentence := weak_delta(delta, rows)) is not None:
        warnings.warn(sentence, PrivacyWarning, stacklevel=2)

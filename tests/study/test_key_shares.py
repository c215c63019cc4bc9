"""How large the shares of a key are, as they really leave a site."""

from collections.abc import Callable

from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.key_shares import shares_bytes, shares_words
from secure_sapefl.study.terms import StudyTerms


def test_by_hand_for_three_sites(make_study: Callable[..., StudyFile]) -> None:
    """Two of three open a sum: one share is a seed, two are 4098 numbers of 60 bits, and sealing adds 48 bytes."""
    joint, shared = (StudyTerms.from_file(make_study(method="fedavg", keys=keys)).study for keys in ("joint", "shared"))
    assert shares_bytes(joint) == 32 + 2 * (4098 * 60 // 8) + 3 * 48
    assert shares_words(joint).startswith("its key in 3 shares")
    assert "; 2 of them together are the key" in shares_words(joint)
    assert shares_bytes(shared) == 0

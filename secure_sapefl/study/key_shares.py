"""What leaves a site beside an update under a key of its own: the shares of that key, in words and bytes."""

from sapefl_crypto.joint.drawing import planned_size
from sapefl_crypto.joint.round_key import bytes_of_shares
from secure_sapefl.protocol.study import Study


def shares_words(study: Study) -> str:
    size = planned_size(len(study.sites), colluders=study.colluders, rounds=study.rounds)
    return (
        f"its key in {size.members} shares, each sealed for one member of the committee; {size.threshold} of them "
        "together are the key"
    )


def shares_bytes(study: Study) -> int:
    """Of a round; none where sites share a key."""
    if study.keys == "shared":
        return 0
    size = planned_size(len(study.sites), colluders=study.colluders, rounds=study.rounds)
    return bytes_of_shares(size.members, size.threshold)

"""Streams are apart, and stay what they were."""

from itertools import product

from secure_sapefl.data.streams import DataPurpose, stream


def test_seed_purpose_and_key_each_give_another_stream():
    draws = {
        (seed, purpose, key): int(stream(seed, purpose, key).integers(2**63))
        for seed, purpose, key in product((0, 1), DataPurpose, (0, 1))
    }
    assert len(set(draws.values())) == len(draws)


def test_a_stream_is_pinned():
    """Another number here means that every recorded partition changes: say so in the changelog."""
    assert stream(0, DataPurpose.PARTITION).integers(1000, size=3).tolist() == [656, 838, 462]

"""A tree of servers does what one server does."""

import pytest

from sapefl_crypto import Parameters
from sapefl_crypto.joint.bench import tree as tree_bench
from sapefl_crypto.joint.frames import parse_frame


def test_a_tree_of_servers_reports_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_bench, "A_REGION", 20)
    tree = tree_bench._climb(50)  # one step of the benchmark alone
    assert (tree.frames, tree.regions) == (50, 3)
    assert tree.claim_bytes == 109 + 50 * 21 + 10 + 2 * 40
    assert tree.plan == str(Parameters.joint(max_clients=50, weight_bits=0))


def test_a_crowd_is_a_roster_of_so_many_signed_frames() -> None:
    crowd = tree_bench.Crowd(10, 4)
    assert (len(crowd), list(crowd)) == (4, ["0", "1", "2", "3"])
    assert parse_frame(crowd.frame("2"), crowd.about).manifest.sender == "2"
    for stranger in ("4", "crowd"):
        with pytest.raises(KeyError):
            _ = crowd[stranger]

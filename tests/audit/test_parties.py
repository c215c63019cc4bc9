"""Each party makes out exactly what its place lets it, from the messages of real runs."""

from collections.abc import Callable

import torch

from secure_sapefl import Config
from secure_sapefl.audit.replay import Replay, replay
from secure_sapefl.engine.assembly import federation_of


def test_the_server_reads_a_plaintext_run_and_nothing_of_an_encrypted_one(runs: dict[str, Replay]) -> None:
    open_, closed = (runs[name].parties[0] for name in ("plaintext", "ckks"))
    assert open_.theta_global is not None
    assert set(open_.updates) == set(open_.personal) == set(open_.scores)
    assert closed.theta_global is None
    assert (closed.updates, closed.personal) == ({}, {})
    assert closed.scores == open_.scores, "scores it sees either way"


def test_with_one_sites_key_the_server_reads_what_was_sent_to_the_bit(runs: dict[str, Replay]) -> None:
    together, open_ = runs["ckks"].parties[2], runs["plaintext"].parties[0]
    assert set(together.updates) == set(open_.updates) - {together.site}
    for site, update in together.updates.items():
        assert torch.equal(update.theta_local, open_.updates[site].theta_local)
    assert together.theta_global is not None
    assert open_.theta_global is not None
    assert torch.equal(together.theta_global, open_.theta_global)


def test_a_peer_has_models_and_sums_but_no_update(runs: dict[str, Replay]) -> None:
    peer, together = runs["ckks"].parties[1:3]
    assert peer.updates == {}
    assert peer.site not in peer.personal
    assert 0 < len(peer.personal) <= 3
    assert peer.theta_global is not None
    assert together.theta_global is not None
    assert torch.equal(peer.theta_global, together.theta_global)


def test_an_observer_reads_nothing_and_sizes_are_all_alike(runs: dict[str, Replay]) -> None:
    for run in runs.values():
        observer = run.parties[3]
        assert (observer.theta_global, observer.updates, observer.personal, observer.scores) == (None, {}, {}, {})
        assert len(run.sizes.update) == len(run.sizes.theta_personal) == 1


def test_hidden_scores_are_in_nobodys_sight(runs: dict[str, Replay]) -> None:
    server, peer, together, _ = runs["hidden"].parties
    assert (server.scores, peer.scores, together.scores) == ({}, {}, {})
    assert (server.theta_global, server.updates, server.personal) == (None, {}, {})
    assert together.updates, "with a site's key the server opens the sum of one"


def test_of_a_method_that_only_relays_there_are_models_and_no_sum(small: Callable[..., Config]) -> None:
    config = small(method="fedacs", protection="plaintext")
    server = replay(config, federation_of(config)).parties[0]
    assert (server.theta_global, server.updates) == (None, {})
    assert server.personal


def test_where_peers_are_given_what_an_update_is_made_of_they_have_the_update(small: Callable[..., Config]) -> None:
    config = small(method="sapefl-plus", keys="joint", participation=1.0, rounds=2)
    peer = replay(config, federation_of(config)).parties[1]
    plain = small(method="sapefl-plus", protection="plaintext", participation=1.0, rounds=1)
    sent = replay(plain, federation_of(plain)).parties[0].updates
    assert len(peer.updates) == 3
    for site, found in peer.updates.items():
        torch.testing.assert_close(found.theta_local, sent[site].theta_local, rtol=0, atol=1e-4)
        torch.testing.assert_close(found.theta_global, sent[site].theta_global)

"""Each party makes out exactly what its place lets it, from the messages of real runs."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from secure_sapefl import Config
from secure_sapefl.audit.parties import AtServer, AtSite
from secure_sapefl.audit.recording import RecordedRun
from secure_sapefl.audit.replay import Replay, most_invited, replay
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.errors import PrivacyWarning

SMALL = {
    "clients": 4,
    "rounds": 3,
    "participation": 0.75,
    "local_epochs": 1,
    "data_options": {"rows": 240, "classes": 3, "informative": 5, "flip_y": 0.0},
}


@pytest.fixture(scope="module")
def runs(tiny: Callable[..., Config]) -> dict[str, Replay]:
    configs = {name: tiny(**SMALL, protection=name) for name in ("plaintext", "ckks")}
    configs["hidden"] = tiny(**SMALL, scores="hidden")
    return {name: replay(config, federation_of(config)) for name, config in configs.items()}


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


def test_no_forgery_passes_and_no_key_is_near(runs: dict[str, Replay]) -> None:
    for name in ("ckks", "hidden"):
        assert not runs[name].key_within_reach
        assert set(runs[name].forgeries.values()) == {False}
        assert len(runs[name].forgeries) == 5
    assert runs["plaintext"].forgeries == {}, "nothing is promised there"


def test_hidden_scores_are_in_nobodys_sight(runs: dict[str, Replay]) -> None:
    server, peer, together, _ = runs["hidden"].parties
    assert (server.scores, peer.scores, together.scores) == ({}, {}, {})
    assert (server.theta_global, server.updates, server.personal) == (None, {}, {})
    assert together.updates, "with a site's key the server opens the sum of one"


def test_recording_changes_nothing(runs: dict[str, Replay]) -> None:
    assert runs["plaintext"].result.accuracy == runs["ckks"].result.accuracy


def test_a_recorded_run_leaves_ledgers_alone(tiny: Callable[..., Config], tmp_path: object) -> None:
    config = tiny(**SMALL, dp_epsilon=4.0, dp_delta=1e-5, dp_ledgers=tmp_path)
    assert RecordedRun(config, federation_of(config)).config.dp_ledgers is None


def test_an_audit_warns_of_a_careless_delta(tiny: Callable[..., Config]) -> None:
    config = tiny(**SMALL, dp_epsilon=4.0, dp_delta=0.5)
    with pytest.warns(PrivacyWarning, match=r"delta = 0\.5 is not below 1 / n"):
        replay(config, federation_of(config))


def test_of_a_method_that_only_relays_there_are_models_and_no_sum(tiny: Callable[..., Config]) -> None:
    config = tiny(**SMALL, method="fedacs", protection="plaintext")
    server = replay(config, federation_of(config)).parties[0]
    assert (server.theta_global, server.updates) == (None, {})
    assert server.personal


def test_a_method_that_keeps_heads_at_home_is_refused(tiny: Callable[..., Config]) -> None:
    config = tiny(**SMALL, method="fedas")
    with pytest.raises(BadInput, match="without their last layer"):
        replay(config, federation_of(config))


def test_the_curious_site_is_the_one_invited_most(runs: dict[str, Replay]) -> None:
    terms = runs["ckks"].terms
    counts = np.bincount([c for t in range(3) for c in terms.study.cohort(t)], minlength=4)
    assert counts[terms.study.sites.index(most_invited(terms, 3))] == counts.max()
    assert isinstance(runs["ckks"].parties[1], AtSite)
    assert isinstance(runs["ckks"].parties[2], AtServer)

"""The table that tells a data officer who could read what must follow the run's method and protection."""

import dataclasses

import pytest

from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.report.who_sees import who_sees_what


@pytest.fixture
def hide_scores():
    return lambda run: dataclasses.replace(run, config=run.config.model_copy(update={"scores": "hidden"}))


def server(run):
    return {sight.what: sight.server.level for sight in who_sees_what(run)}


def test_encrypted_sapefl(make_run):
    assert server(make_run()) == {
        "Training and test rows": "nothing",
        "One site's update": "sealed",
        "One site's personal model": "sealed",
        "Similarity to each peer": "nothing",
        "One site's score": "readable",
        "The global model": "sealed",
        "Who took part, when, how many bytes": "readable",
    }


def test_hidden_scores_are_hidden_where_the_run_is_encrypted(make_run, hide_scores):
    hidden = {sight.what: sight for sight in who_sees_what(hide_scores(make_run()))}["One site's score"]
    assert (hidden.server.level, hidden.other_sites.level) == ("sealed", "nothing")
    assert server(hide_scores(make_run(protection="plaintext")))["One site's score"] == "readable"


def test_in_plaintext_the_server_reads_everything_that_is_sent(make_run):
    seen = server(make_run(protection="plaintext"))
    for what in ("One site's update", "One site's personal model", "The global model"):
        assert seen[what] == "readable"


def test_a_method_that_relays_no_models_shows_none(make_run):
    seen = server(make_run(method="fedavg"))
    assert seen["One site's weight"] == "readable"
    assert not {"One site's personal model", "Similarity to each peer", "One site's score"} & seen.keys()


@pytest.mark.parametrize("protection", ["ckks", "plaintext"])
def test_where_nothing_is_sent_nobody_sees_anything(make_run, protection):
    sights = who_sees_what(make_run(method="local", protection=protection))
    assert {view.level for sight in sights for view in (sight.server, sight.other_sites)} == {"nothing"}


def test_peers_read_personal_models_and_the_shared_key_is_not_kept_quiet(make_run):
    others = {sight.what: sight.other_sites for sight in who_sees_what(make_run())}
    assert others["One site's personal model"].level == "readable"
    assert "cohort key" in others["One site's update"].how


def test_every_field_of_an_upload_is_accounted_for():
    """A new field in the message has to get a row in the table."""
    accounted = {"site", "round_index", "similarity_score", "update", "theta_personal"}
    assert {field.name for field in dataclasses.fields(RoundUpload)} == accounted

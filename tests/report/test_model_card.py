"""A card says what the run knows, admits what it cannot know, and cannot be bent by a site's name."""

import re

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.intervals import wilson
from secure_sapefl.report.model_card import model_card, rows_tested
from secure_sapefl.report.run import load_run

NAN = float("nan")


@pytest.fixture(scope="module")
def card(make_run):
    return model_card(make_run())


def test_sections(card):
    assert re.findall(r"^#+ (.+)$", card, re.MULTILINE) == [
        "Model card: SAPE-FL on synthetic",
        "Model",
        "Intended use",
        "Data",
        "Metrics",
        "Privacy and security",
        "Limits",
    ]
    assert card.endswith("\n")


def test_what_nobody_told_the_run_is_left_to_be_written(card):
    for question in ("Owner, contact, version", "Purpose, users, decisions it may inform", "consent"):
        assert re.search(rf"{question}.*\*to be written\*", card)


def test_every_site_has_its_row(make_run):
    card = model_card(make_run(client_rows=[5, 6789, 7]))
    assert "| Anna | 5 | – | 90.0 % | – | 0.800 | 50.0 % |" in card
    assert "which is not known here" in card


def test_intervals_where_the_data_is_at_hand(tmp_path):
    config = Config(clients=3, rounds=1, rows=120, local_epochs=1, workers=0, protection="plaintext", method="fedavg")
    simulate(config, tmp_path / "run")
    run = load_run(tmp_path / "run")
    tested = [len(client.test) for client in federation_of(config).clients]
    assert rows_tested(run) == tuple(tested)
    low, high = wilson(run.last.personal.accuracy.per_client[0], tested[0])
    assert f"| {tested[0]} | " in model_card(run)
    assert f"{100 * low:.1f} % to {100 * high:.1f} %" in model_card(run)


def test_data_that_is_not_here_is_not_fetched(make_run, monkeypatch):
    monkeypatch.setattr("secure_sapefl.report.model_card.federation_of", lambda _: pytest.fail("read the data"))
    monkeypatch.setattr("secure_sapefl.report.model_card.locate", lambda origin, folder: None)
    assert rows_tested(make_run(settings={"dataset": "heart"})) is None
    assert rows_tested(make_run(settings={"dataset": "gone/mine.npz"})) is None


def test_no_budget_is_said_aloud(card, make_run):
    assert "**No privacy budget.**" in card
    assert "Nothing left any site" in model_card(make_run(method="local"))


def test_a_budget_is_stated(make_run):
    spent = {"epsilon_max": 3.5, "delta": 1e-5, "epsilon_per_client": [1.0, 2.0, 3.5], "notes": ["A note."]}
    card = model_card(make_run(privacy=spent))
    assert "**Most spent by a site, ε**: 3.5" in card
    assert "- A note." in card
    assert "No privacy budget" not in card


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"protection": "plaintext"}, "the server could read every update"),
        ({}, "secure-sapefl release"),
        ({}, "At 1 of 3 sites the global model is better than their own: Cleo."),
        ({"auc": (NAN, 0.5, 0.5)}, "No AUC at 1 sites, whose test rows are of one class: Anna."),
    ],
)
def test_limits_follow_from_the_run(make_run, options, limit):
    assert limit in model_card(make_run(**options))


def test_a_name_cannot_become_markup(make_run):
    names = ("a|b", "<img src=x>", "[x](http://evil.example)\n# Approved")
    card = model_card(make_run(sites=names))
    assert r"| a\|b |" in card
    assert "<img" not in card.replace(r"\<img", "")
    assert "\n# Approved" not in card
    assert r"\[x\](http://evil.example)" in card


def test_a_run_that_counts_other_rows_is_not_given_intervals(make_run):
    assert rows_tested(make_run(client_rows=[1, 2, 3])) is None

"""Private studies as a whole: what leaves, what pays for it, who sits out, and what the summary says."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl.algorithms import group as site_group
from secure_sapefl.algorithms import sapefl
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.config import Config
from secure_sapefl.data.datasets import heart
from secure_sapefl.engine import assembly
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.events import RoundClosed, RunEvent
from secure_sapefl.engine.simulator import Simulation, resume, simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.accounting import composition, rdp_epsilon
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Paid
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.privacy.study import PrivateSite, StudyPrivacy, Terms
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.server import Server
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.streams import Purpose

PRIVATE = [name for name, method in ALGORITHMS.items() if not isinstance(method.releases, NotPrivate)]
TINY: dict[str, Any] = {
    "clients": 3,
    "rounds": 2,
    "participation": 1.0,
    "kappa": 50.0,
    "local_epochs": 1,
    "protection": "plaintext",
    "workers": 0,
    "data_options": {"rows": 240, "classes": 3, "flip_y": 0.0},
    "dp_epsilon": 4.0,
    "dp_delta": 1e-5,
}


@pytest.fixture
def private() -> Callable[..., Simulation]:
    """``private("ditto", dp_epsilon=1.0)``: three sites of about 64 rows, two rounds."""
    return lambda method="sapefl", **changes: Simulation(assemble(Config(**(TINY | {"method": method} | changes))))


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> list[RoundUpload]:
    """Everything that leaves a site from now on."""
    sent: list[RoundUpload] = []
    accept = Server.accept

    def overheard(self: Server, upload: RoundUpload) -> bool:
        sent.append(upload)
        return accept(self, upload)

    monkeypatch.setattr(Server, "accept", overheard)
    return sent


@pytest.fixture
def payments(monkeypatch: pytest.MonkeyPatch) -> list[Paid]:
    """Everything that is paid from now on."""
    made: list[Paid] = []
    pay = PrivateSite.pay

    def remembered(self: PrivateSite, round_index: int) -> Mapping[Purpose, Paid]:
        paid = pay(self, round_index)
        made.extend(paid.values())
        return paid

    monkeypatch.setattr(PrivateSite, "pay", remembered)
    return made


def study_of(simulation: Simulation) -> StudyPrivacy:
    assert isinstance(simulation._privacy, StudyPrivacy)  # ledgers in memory have no other way out
    return simulation._privacy  # as above


def events_of(simulation: Simulation, site: str) -> tuple[Event, ...]:
    return next(one.ledger.events for one in study_of(simulation).sites if one.name == site)


PUBLIC = {"site", "round_index", "shares"}  # shares are of a key that was drawn at random
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "sapefl": [{}, {"influence": 0.0}, {"anchoring": "proximal"}, {"personal_epochs": 2, "personal_start": "personal"}],
    "sapefl-plus": [{}, {"similarity": "raw"}, {"start": "peers"}, {"start": "local"}, {"influence": 0.0}],
    "perfedavg": [{}, {"order": "hessian-free"}],
    "fedas": [{"alignment_epochs": 2}],
}


def test_a_message_has_no_field_this_test_does_not_know() -> None:
    assert {field.name for field in fields(RoundUpload)} == PUBLIC | {"similarity_score", "update", "theta_personal"}


@pytest.mark.parametrize(("method", "options"), [(m, o) for m in PRIVATE for o in OPTIONS.get(m, [{}])], ids=str)
def test_every_field_that_leaves_is_paid_for_in_its_round(
    private: Callable[..., Simulation],
    uploads: list[RoundUpload],
    payments: list[Paid],
    method: str,
    options: dict[str, Any],
) -> None:
    """Or costs nothing, and the method says so. And whatever was paid for went through its mechanism."""
    simulation = private(method, options=options)
    releases = ALGORITHMS[method].releases
    assert not isinstance(releases, NotPrivate)
    free = set(releases(simulation.assembly.blueprint.options, 1).free)
    simulation.run()
    assert bool(uploads) == (method != "local")
    for upload in uploads:
        paid = {e.release for e in events_of(simulation, upload.site) if e.round_index == upload.round_index}
        filled = {field.name for field in fields(upload) if getattr(upload, field.name) is not None} - PUBLIC
        assert filled <= paid | free
        assert not paid & free
    for payment in payments:
        with pytest.raises(RuntimeError, match="was used before"):
            payment.spend()


def test_sapefl_pays_for_two_trainings_and_one_vector_of_similarities_a_round(
    private: Callable[..., Simulation],
) -> None:
    simulation = private(rounds=1)
    simulation.run()
    site = study_of(simulation).sites[0]
    update, personal, score = site.ledger.events
    assert (update.mechanism, update.release) == (personal.mechanism, "update")
    assert personal.release == "theta_personal"
    assert update.sample_rate == 16 / site.rows
    assert update.steps == -(-site.rows // 16)
    assert (score.mechanism, score.release, score.sample_rate, score.steps) == ("gaussian", "similarity_score", 1.0, 1)
    assert {event.study for event in site.ledger.events} == {"sapefl-0"}


def test_the_summary_says_what_was_spent_and_how(private: Callable[..., Simulation]) -> None:
    simulation = private()
    summary = simulation.run().summary()["privacy"]
    ledgers = [site.ledger for site in study_of(simulation).sites]
    assert summary["epsilon_per_client"] == [ledger.epsilon for ledger in ledgers]
    assert 3.9 < summary["epsilon_max"] <= 4.0
    assert summary["epsilon_max_prv"] < summary["epsilon_max"]
    assert summary["epsilon_max"] == max(rdp_epsilon(composition(ledger.events), 1e-5) for ledger in ledgers)
    assert (summary["delta"], summary["accountant"]) == (1e-5, "rdp")
    assert summary["noise_multiplier"] > 0.5
    assert summary["score_noise"] > summary["noise_multiplier"]
    assert summary["generator"] == "keyed streams (simulation only)"
    assert summary["metrics"].startswith("exact")
    assert "per_sample" in summary["notes"][0]
    assert summary["stopped"] == []
    json.dumps(summary)


def test_a_run_without_budget_says_nothing_of_privacy(private: Callable[..., Simulation]) -> None:
    assert private(dp_epsilon=None, dp_delta=None).run().summary()["privacy"] is None


def test_what_stays_at_a_site_is_not_noised(private: Callable[..., Simulation]) -> None:
    """Local-only sends nothing: the same models, and nothing spent."""
    noisy = private("local")
    openly = noisy.config.model_copy(update={"dp_epsilon": None, "dp_delta": None})
    plain = Simulation(assemble(openly, noisy.assembly.federation))
    result, _ = noisy.run(), plain.run()
    assert torch.equal(noisy.assembly.sites.state["theta_personal"], plain.assembly.sites.state["theta_personal"])
    assert result.summary()["privacy"]["epsilon_max"] == 0


def test_every_method_of_the_registry_has_a_private_form() -> None:
    assert set(PRIVATE) == set(ALGORITHMS)


def test_a_method_without_a_private_form_refuses_with_its_reason(
    private: Callable[..., Simulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    unpaid = replace(ALGORITHMS["fedavg"], releases=NotPrivate("it reads records nobody accounts for."))
    monkeypatch.setattr(assembly.own, "configured", lambda *_: (unpaid, NoOptions()))
    with pytest.raises(BadInput, match="has no differentially private form: it reads records nobody accounts for"):
        private("fedavg")


def test_sites_invited_more_often_than_they_planned_sit_out_and_the_run_goes_on(
    private: Callable[..., Simulation],
) -> None:
    """One of three sites a round: each plans for two of four rounds, and the dice do not know that."""
    simulation = private("fedavg", rounds=4, participation=0.3)
    result = simulation.run()
    invited = [
        [simulation.assembly.blueprint.study.sites[c] for c in simulation.assembly.blueprint.study.cohort(r)]
        for r in range(4)
    ]
    expected = [
        (name, r) for r, names in enumerate(invited) for name in names if sum(name in i for i in invited[:r]) >= 2
    ]
    summary = result.summary()
    assert expected
    assert [(one["site"], one["round"]) for one in summary["privacy"]["stopped"]] == expected
    assert [(one["site"], one["round"]) for one in summary["refused"]] == expected
    assert "privacy budget of 4" in summary["refused"][0]["reason"]
    assert max(summary["privacy"]["epsilon_per_client"]) <= 4
    assert len(result.rounds) == 4


def test_a_site_with_fewer_rows_than_a_batch_sits_out(private: Callable[..., Simulation]) -> None:
    simulation = private("fedavg", batch_size=64, rounds=1)
    small = [site.name for site in study_of(simulation).sites if site.rows < 64]
    assert 0 < len(small) < 3
    summary = simulation.run().summary()
    assert [one["site"] for one in summary["refused"]] == small
    assert "fewer than a batch of 64" in summary["refused"][0]["reason"]


def test_a_study_nobody_can_take_part_in_is_an_error(private: Callable[..., Simulation]) -> None:
    with pytest.raises(BadInput, match="No site has as many rows as a batch"):
        private("fedavg", batch_size=100)


def test_a_delta_beyond_one_over_n_is_a_warning_that_names_n(private: Callable[..., Simulation]) -> None:
    with pytest.warns(PrivacyWarning, match=r"at 3 of 3 sites, which have up to n = \d+ records"):
        private("fedavg", dp_delta=0.05)


@pytest.mark.parametrize("budget", [{"dp_delta": None}, {"dp_epsilon": None}], ids=str)
def test_epsilon_and_delta_come_together(budget: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="given together"):
        Config.read(TINY | budget, "here")


@pytest.mark.parametrize(
    "wrong", [{"dp_epsilon": 0.0}, {"dp_epsilon": -1}, {"dp_delta": 1.0}, {"dp_clip": 0}, {"dp_score_fraction": 1.0}]
)
def test_impossible_budgets_are_sentences(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=f"{next(iter(wrong))} = .* is not possible"):
        Config.read(TINY | wrong, "here")


def test_secure_noise_is_said_and_never_the_same_twice(private: Callable[..., Simulation]) -> None:
    first, second = private("fedavg", dp_secure_noise=True, rounds=1), private("fedavg", dp_secure_noise=True, rounds=1)
    summary = first.run().summary()["privacy"]
    second.run()
    assert summary["generator"] == "OpenSSL (ssl.RAND_bytes)"
    assert not torch.equal(first.key_holders.theta_global, second.key_holders.theta_global)


def test_a_private_run_repeats_and_its_groups_do_not_matter(private: Callable[..., Simulation]) -> None:
    runs = [private(), private(), private(group_size=1)]
    for run in runs:
        run.run()
    assert torch.equal(runs[0].key_holders.theta_global, runs[1].key_holders.theta_global)
    torch.testing.assert_close(runs[0].key_holders.theta_global, runs[2].key_holders.theta_global, rtol=1e-3, atol=1e-4)


def test_a_stopped_run_resumes_to_the_same_numbers_and_the_same_epsilon(tmp_path: Path) -> None:
    config = Config(**(TINY | {"method": "fedavg", "rounds": 4, "participation": 0.3}))
    whole = simulate(config).summary()

    def stop(event: RunEvent) -> None:
        if isinstance(event, RoundClosed):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(config, tmp_path / "run", observers=[stop])
    assert whole["privacy"]["stopped"]
    again = resume(tmp_path / "run").summary()
    assert again["privacy"] == whole["privacy"]
    assert again["accuracy"] == whole["accuracy"]


def test_budgets_are_shared_by_studies_that_share_a_ledger_file(tmp_path: Path) -> None:
    """A second study finds what the first spent, and its first round is one too many."""
    releases = ALGORITHMS["fedavg"].releases
    assert not isinstance(releases, NotPrivate)
    terms: dict[str, Any] = {
        "budget": Budget(2.0, 1e-5),
        "releases": releases(ALGORITHMS["fedavg"].options(), 1),
        "rounds": 2,
        "participation": 1.0,
        "batch_size": 16,
        "clip": 1.0,
        "score_fraction": 0.1,
        "secure_noise": True,
    }
    refused = []
    for study in ("first", "second"):
        with FileStore(tmp_path / "north.jsonl") as store:
            privacy = StudyPrivacy(Terms(study=study, **terms), {"north": 100}, lambda _, store=store: store)
            refused.append([privacy.admit(round_index, [0])[1] for round_index in range(2)])
            assert privacy.sites[0].ledger.epsilon == pytest.approx(2.0, rel=0.02)
    assert refused[0] == [[], []]
    assert all(len(refusals) == 1 for refusals in refused[1])


def test_noisy_similarities_feed_anchor_filter_and_score(private: Callable[..., Simulation]) -> None:
    """At first all models are the initial one and every exact similarity is 1: what scores show is the noise."""
    simulation = private(rounds=1, options={"influence": 1.0})
    record = simulation.run().rounds[0]
    assert 0 <= record.similarity["score_min"] < record.similarity["score_max"] <= 2
    assert simulation._log.matrix[~torch.eye(3, dtype=torch.bool).numpy()].min() < 1  # before it is rounded for the log


def test_similarities_are_means_over_all_rows_of_unequal_sites(
    private: Callable[..., Simulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks of rows or in one piece, and equal to the plain mean of cosines a record."""
    simulation = private(kappa=1.0, batch_size=1)
    sites = simulation.assembly.sites
    group_model = sites._trainer.model  # the model a site trains, without assembling it again
    order = next(iter(sites.groups(range(3), 3)))
    models = torch.stack([group_model.initial(np.random.default_rng(j)) for j in range(4)])
    received = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 1]], dtype=torch.bool)
    group = sites.group(order, sites.theta_initial, 0, Peers(models, received), Stopwatch())
    compared = partial(sapefl._compared, form="per_sample")  # one similarity, as the method forms it
    whole = sapefl.mean_over_all_rows(group, compared)
    monkeypatch.setattr(site_group, "_ROWS_AT_ONCE", 7)
    torch.testing.assert_close(sapefl.mean_over_all_rows(group, compared), whole)
    for g, j in received.nonzero().tolist():
        x, _ = group.shard.site(g)
        own, peer = (group.trainer.model.outputs(t[None], x[None])[0] for t in (sites.theta_initial, models[j]))
        expected = torch.nn.functional.cosine_similarity(own, peer).clamp(min=0).mean()
        torch.testing.assert_close(whole[g, j], expected)
    assert not whole[~received].any()


def test_a_refined_model_stays_at_its_site_and_costs_nothing(private: Callable[..., Simulation]) -> None:
    """The same messages, the same ledger; only the model a site uses is another."""
    paper, refined = private(), private(options={"refine_epochs": 2})
    results = [simulation.run() for simulation in (paper, refined)]
    assert torch.equal(paper.key_holders.theta_global, refined.key_holders.theta_global)
    assert torch.equal(paper.assembly.sites.state["theta_personal"], refined.assembly.sites.state["theta_personal"])
    assert events_of(paper, paper.assembly.blueprint.study.sites[0]) == events_of(
        refined, refined.assembly.blueprint.study.sites[0]
    )
    assert results[0].accuracy != results[1].accuracy


def heart_table(rows: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (rows, len(heart.FEATURES))) * 100
    X[rng.random(X.shape) < 0.1] = np.nan
    return {
        "X": X,
        "y": rng.integers(0, 2, rows).astype(np.uint8),
        "hospital": np.repeat(np.arange(3, dtype=np.uint8), rows // 3),
        "hospital_names": np.array(["a", "b", "c"]),
        "class_names": np.array(["no", "yes"]),
    }


@pytest.mark.parametrize("given", [{}, {"standardise": "site"}], ids=["default", "told otherwise"])
def test_a_private_study_prepares_rows_by_public_ranges_unless_told_otherwise(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    """Told to learn from rows, it does, and says aloud that no budget covers that."""
    np.savez(tmp_path / "heart_disease.npz", **heart_table())
    fields = TINY | {"dataset": "heart", "method": "fedavg", "clients": None, "data_options": given}
    config = Config(**fields, data_dir=tmp_path)
    if given:
        with pytest.warns(PrivacyWarning, match="Not covered: rows are prepared with means.*ranges=FILE.toml"):
            study = Simulation(assemble(config))
    else:
        study = Simulation(assemble(config))
    summary = study.run().summary()["privacy"]
    assert study.config.data_options == {"standardise": "site" if given else "public"}
    assert summary["preparation_covered"] == (not given)
    assert ("Not covered" in summary["notes"][-1]) == bool(given)
    plain = Simulation(assemble(config.model_copy(update={"dp_epsilon": None, "dp_delta": None})))
    assert plain.assembly.federation.learned

"""Algorithm 2 as a whole: what a site's result may depend on, and every option at work."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms import sapefl
from secure_sapefl.algorithms.base import Contribution, StudyFacts
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.sapefl import ALGORITHM, SapeOptions, similarities, site_round
from secure_sapefl.sape.objective import CosineAnchored, ProximalAnchored
from secure_sapefl.sape.similarity import output_similarity, vartheta
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.trainer import SequentialTrainer

EVERY_OPTION = [
    {"influence": 0},
    {"influence": 1},
    {"output_form": "per_sample"},
    {"anchoring": "proximal"},
    {"anchoring": "proximal", "influence": 0},
    {"anchoring": "proximal", "influence": 1, "output_form": "per_sample"},
    {"anchor_strength": 0},
    {"anchor_strength": 3, "personal_start": "personal"},
    {"weight_similarity": "displacement"},
    {"personal_epochs": 1},
    {"similarity_batch": 2},
    {"similarity_threshold": 1},
]


def run(four_sites: Any, sites: tuple[int, ...] = (0, 1, 2, 3), trainer: Any = None, **options: Any) -> Contribution:
    how = {} if trainer is None else {"trainer": trainer}
    return site_round(four_sites.group(four_sites.state(ALGORITHM), sites, **how), SapeOptions(**options))


def leaving(contribution: Contribution) -> tuple[Tensor, ...]:
    assert contribution.update is not None
    assert contribution.score is not None
    assert contribution.shared is not None
    return contribution.update, contribution.score, contribution.shared


def group_of(four_sites: Any, sites: tuple[int, ...] = (0, 1, 2, 3)) -> SiteGroup:
    made: SiteGroup = four_sites.group(four_sites.state(ALGORITHM), sites)
    return made


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_both_engines_agree_on_every_option(four_sites: Any, options: dict[str, Any]) -> None:
    batched, sequential = run(four_sites, **options), run(four_sites, trainer=SequentialTrainer, **options)
    torch.testing.assert_close(leaving(batched), leaving(sequential), atol=5e-5, rtol=1e-3)


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_sites_together_or_one_by_one(four_sites: Any, options: dict[str, Any]) -> None:
    together = leaving(run(four_sites, **options))
    alone = [leaving(run(four_sites, (site,), **options)) for site in range(4)]
    stacked = tuple(torch.cat(rows) for rows in zip(*alone, strict=True))
    torch.testing.assert_close(together, stacked, atol=5e-5, rtol=1e-3)


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_a_round_runs_without_leaving_its_device(four_sites: Any, options: dict[str, Any]) -> None:
    group = four_sites.group(four_sites.state(ALGORITHM), device="meta")
    contribution = site_round(group, SapeOptions(**options))
    assert {tensor.device.type for tensor in leaving(contribution)} == {"meta"}


@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_a_model_that_was_not_received_cannot_matter(four_sites: Any, options: dict[str, Any]) -> None:
    """Site 1 was not given model 3, and no site its own."""
    before = leaving(run(four_sites, (1,), **options))
    state = four_sites.state(ALGORITHM)
    four_sites.models = four_sites.models.clone()
    four_sites.models[[1, 3]] = 1e3 * torch.randn(2, four_sites.model.parameters)
    after = leaving(site_round(four_sites.group(state, (1,)), SapeOptions(**options)))
    torch.testing.assert_close(before, after, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("similarity_batch", [2, 32])
def test_similarities_pair_by_pair(four_sites: Any, similarity_batch: int) -> None:
    """The batched, chunked, padded Eq. 9 against its definition, one pair after another."""
    group, options = group_of(four_sites), SapeOptions(influence=0.3, similarity_batch=similarity_batch)
    x, present = group.sample_rows(options.similarity_batch, Purpose.SIMILARITY_ROWS)
    model, got = four_sites.model, similarities(group, options)
    for g, j in product(range(4), range(5)):
        if four_sites.received[g, j]:
            own, peer = group.state["theta_personal"][g], four_sites.models[j]
            answers = [model.outputs(theta[None], x[g : g + 1]) for theta in (own, peer)]
            output = output_similarity(answers[0], answers[1], present[g : g + 1], "flattened")
            expected = 0.3 * output + 0.7 * (1 - vartheta(own, peer))
            torch.testing.assert_close(got[g, j], expected.squeeze())


@pytest.mark.parametrize("chunk", [1, 2_000])
def test_similarities_do_not_depend_on_chunks(four_sites: Any, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = similarities(group_of(four_sites), SapeOptions())
    monkeypatch.setattr(sapefl, "_CHUNK_VALUES", chunk)
    received = four_sites.received
    torch.testing.assert_close(similarities(group_of(four_sites), SapeOptions())[received], whole[received])


def test_influence_0_compares_without_reading_a_row(four_sites: Any) -> None:
    four_sites.x[:] = torch.nan
    similarity = similarities(group_of(four_sites), SapeOptions(influence=0))
    assert torch.isfinite(similarity).all()
    group = group_of(four_sites)
    start = group.state["theta_personal"]
    anchor = sapefl.peer_anchors(similarity, four_sites.received, four_sites.models, 0.5)
    for anchoring in ("cosine", "proximal"):
        objective = sapefl.dual_anchored(group, SapeOptions(influence=0, anchoring=anchoring), start, anchor)
        pull = objective.weight_pull(start)
        assert pull is not None
        assert torch.isfinite(pull.dense(start)).all()


def test_influence_1_compares_answers_alone(four_sites: Any) -> None:
    """Doubling the last layer doubles every answer and turns the weights, yet nothing changes for influence 1."""
    received = four_sites.received
    before = {d: similarities(group_of(four_sites), SapeOptions(influence=d))[received] for d in (0, 1)}
    state = four_sites.state(ALGORITHM)
    four_sites.models = four_sites.models.clone()
    four_sites.models[:, four_sites.model.head_start :] *= 2
    after = {d: similarities(four_sites.group(state), SapeOptions(influence=d))[received] for d in (0, 1)}
    torch.testing.assert_close(before[1], after[1])
    assert (before[0] - after[0]).abs().max() > 1e-3


def test_in_the_first_round_everybody_is_alike(four_sites: Any) -> None:
    """theta_c^0 = theta_G^0: every S_cj is 1 and a score is the number of peers."""
    four_sites.models = four_sites.theta_initial.repeat(5, 1)
    contribution = site_round(
        four_sites.group(ALGORITHM.initial_state(four_sites.theta_initial, 4)), SapeOptions(influence=0.5)
    )
    assert contribution.score is not None
    torch.testing.assert_close(contribution.score, four_sites.received.sum(1).float())
    assert (contribution.score <= four_sites.received.sum(1)).all()
    assert contribution.statistics["peers_passed"].tolist() == four_sites.received.sum(1).tolist()


def test_displacement_looks_at_the_way_from_the_start(four_sites: Any) -> None:
    """Models a small step from a common start look alike by weights; by displacement, opposite steps do not."""
    step = torch.randn(four_sites.model.parameters, generator=torch.Generator().manual_seed(0)) / 100
    four_sites.models = four_sites.theta_initial + torch.stack([step, -step, step, step, 2 * step])
    group = group_of(four_sites)
    plain = similarities(group, SapeOptions(influence=0))
    spread = similarities(group, SapeOptions(influence=0, weight_similarity="displacement"))
    assert plain[four_sites.received].min() > 0.99
    torch.testing.assert_close(spread[0, 1:], torch.tensor([0.0, 1, 1, 1]), atol=1e-3, rtol=0)


def test_before_anybody_moved_displacement_knows_nothing(four_sites: Any) -> None:
    """No way has been gone: weight similarity is 0, never NaN, and at influence 0 the round weighs nobody."""
    four_sites.models = four_sites.theta_initial.repeat(5, 1)
    group = four_sites.group(ALGORITHM.initial_state(four_sites.theta_initial, 4))
    score = site_round(group, SapeOptions(influence=0, weight_similarity="displacement")).score
    assert score is not None
    assert score.tolist() == [0, 0, 0, 0]


def test_update_and_score_do_not_depend_on_the_personal_step(four_sites: Any) -> None:
    default = run(four_sites)
    for options in ({"anchor_strength": 5}, {"personal_start": "personal"}, {"anchoring": "proximal"}):
        other = run(four_sites, **options)
        assert torch.equal(leaving(other)[0], leaving(default)[0])
        assert torch.equal(leaving(other)[1], leaving(default)[1])
        assert not torch.equal(leaving(other)[2], leaving(default)[2])


def test_the_update_is_that_of_plain_local_training(four_sites: Any) -> None:
    group = group_of(four_sites)
    torch.testing.assert_close(leaving(run(four_sites))[0], group.train_local() - group.theta_global)


@pytest.mark.parametrize("start", ["local", "personal"])
def test_strength_0_is_plain_training_from_the_start_chosen(four_sites: Any, start: str) -> None:
    group = group_of(four_sites)
    begin = group.train_local() if start == "local" else group.state["theta_personal"]
    expected = group.train(begin, LocalLoss(), Purpose.PERSONAL_BATCHES)
    contribution = run(four_sites, anchor_strength=0, personal_start=start)
    assert torch.equal(contribution.state["theta_personal"], expected)


def test_the_personal_step_has_epochs_of_its_own(four_sites: Any) -> None:
    group = group_of(four_sites)
    expected = group.train(group.train_local(), LocalLoss(), Purpose.PERSONAL_BATCHES, epochs=3)
    contribution = run(four_sites, anchor_strength=0, personal_epochs=3)
    assert torch.equal(contribution.state["theta_personal"], expected)


def test_what_is_shared_is_what_is_kept(four_sites: Any) -> None:
    contribution = run(four_sites)
    assert contribution.shared is contribution.state["theta_personal"]


def test_without_a_passing_peer_the_global_anchor_pulls_alone(four_sites: Any) -> None:
    """The same as if nobody had been received, and the score does not mind the filter."""
    filtered = run(four_sites, similarity_threshold=1)
    assert filtered.statistics["peers_passed"].tolist() == [0] * 4
    assert filtered.score is not None
    assert (filtered.score > 0).all()
    four_sites.received = torch.zeros_like(four_sites.received)
    lonely = run(four_sites)
    assert torch.equal(filtered.state["theta_personal"], lonely.state["theta_personal"])
    assert lonely.score is not None
    assert lonely.score.tolist() == [0] * 4


@pytest.mark.parametrize("anchoring", ["cosine", "proximal"])
def test_a_stronger_anchor_keeps_models_nearer(four_sites: Any, anchoring: str) -> None:
    group = group_of(four_sites)

    def distance(strength: float) -> Tensor:
        theta = leaving(run(four_sites, anchoring=anchoring, anchor_strength=strength, similarity_threshold=1))[2]
        return vartheta(theta, group.theta_global)

    assert (distance(4) < distance(0)).all()


def test_peers_per_client_bounds_scores(four_sites: Any) -> None:
    """Two peers each: scores are at most 2, and each is the sum of exactly those similarities."""
    four_sites.received = torch.zeros((4, 5), dtype=torch.bool)
    for g, peers in enumerate([(1, 4), (0, 2), (3, 4), (0, 1)]):
        four_sites.received[g, list(peers)] = True
    contribution = run(four_sites)
    assert contribution.score is not None
    assert (contribution.score <= 2).all()
    torch.testing.assert_close(contribution.score, contribution.statistics["similarity"].nansum(1))
    assert contribution.statistics["peers_received"].tolist() == [2] * 4


@pytest.mark.parametrize(
    ("cohort", "peers_per_client", "bound"), [(10, None, 9), (10, 3, 3), (3, 7, 2), (1, None, 1), (2, 1, 1)]
)
def test_the_score_bound_is_the_number_of_peers(cohort: int, peers_per_client: int | None, bound: float) -> None:
    facts = StudyFacts(cohort=cohort, largest_site=50, peers_per_client=peers_per_client)
    assert ALGORITHM.score_bound(facts) == bound


@pytest.mark.parametrize(("anchoring", "kind"), [("cosine", CosineAnchored), ("proximal", ProximalAnchored)])
def test_anchoring_chooses_the_reading_of_eq_6(four_sites: Any, anchoring: str, kind: type) -> None:
    group = group_of(four_sites)
    anchor = sapefl.peer_anchors(torch.ones(4, 5), four_sites.received, four_sites.models, 0.5)
    objective = sapefl.dual_anchored(group, SapeOptions(anchoring=anchoring), group.train_local(), anchor)
    assert isinstance(objective, kind)


def test_proximal_strength_is_eq_6_at_the_start(four_sites: Any) -> None:
    """influence 0: strength * vartheta(start, anchor), worked from the definition."""
    group = group_of(four_sites)
    start = group.train_local()
    anchor = sapefl.peer_anchors(torch.ones(4, 5), four_sites.received, four_sites.models, 0.5)
    options = SapeOptions(anchoring="proximal", influence=0, anchor_strength=2)
    objective = sapefl.dual_anchored(group, options, start, anchor)
    assert isinstance(objective, ProximalAnchored)
    expected = torch.stack([2 * vartheta(start, anchor.theta), 2 * vartheta(start, group.theta_global)], 1)
    torch.testing.assert_close(objective.anchors.strength, expected)


def test_the_documented_options_are_the_real_ones() -> None:
    """docs/algorithms.md, section Options: the same names and defaults as here."""
    page = (Path(__file__).parents[2] / "docs" / "algorithms.md").read_text(encoding="utf-8")
    section = page.split("## Options")[1].split("\n## ")[0]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:3]] for line in section.splitlines() if "| `" in line]
    defaults = {name: str(value) for name, value in SapeOptions().model_dump().items()}
    assert dict(rows) == defaults | {"personal_epochs": "as `local_epochs"}

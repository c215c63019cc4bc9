"""What any method owes the round loop. A new entry of the registry is covered by being there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic, StudyFacts
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer

pytestmark = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
FACTS = StudyFacts(cohort=5, largest_site=9, peers_per_client=None)


def run(four_sites: Any, algorithm: Algorithm, sites: tuple[int, ...] = (0, 1, 2, 3), **how: Any) -> Contribution:
    return algorithm.site_round(group_of(four_sites, algorithm, sites, **how), algorithm.options())


def group_of(four_sites: Any, algorithm: Algorithm, sites: tuple[int, ...] = (0, 1, 2, 3), **how: Any) -> SiteGroup:
    """Some of the four sites, with all that the method's sites hold in common."""
    group = four_sites.group(four_sites.state(algorithm), sites, **how)
    return replace(group, theta_global=algorithm.initial_global(group.theta_global, algorithm.options()))


def tensors(contribution: Contribution) -> dict[str, Tensor]:
    """Everything of a contribution that the protocol keeps or sends."""
    leaving = {"update": contribution.update, "score": contribution.score, "shared": contribution.shared}
    kept = {f"state.{name}": rows for name, rows in contribution.state.items()}
    return kept | {name: rows for name, rows in leaving.items() if rows is not None}


def assert_same(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> None:
    assert left.keys() == right.keys()
    for name, rows in left.items():
        torch.testing.assert_close(rows, right[name], atol=5e-5, rtol=1e-3, msg=lambda text, n=name: f"{n}: {text}")


def test_a_round_gives_finite_tensors_of_the_right_shape(algorithm: Algorithm, four_sites: Any) -> None:
    contribution = run(four_sites, algorithm)
    for name, rows in tensors(contribution).items():
        assert len(rows) == 4, name
        assert torch.isfinite(rows).all(), name
        assert not rows.requires_grad, name
    parameters = four_sites.model.parameters
    if contribution.update is not None:
        assert contribution.update.shape == (4, algorithm.update_length(four_sites.model, algorithm.options()))
        assert contribution.score is not None
        assert contribution.score.shape == (4,)
    if contribution.shared is not None:
        assert contribution.shared.shape == (4, parameters)


def test_what_a_site_keeps_has_the_shape_it_started_with(algorithm: Algorithm, four_sites: Any) -> None:
    before = algorithm.initial_state(four_sites.theta_initial, 4)
    after = run(four_sites, algorithm).state
    assert after.keys() == before.keys()
    for name, rows in after.items():
        assert (rows.shape, rows.dtype) == (before[name].shape, before[name].dtype)


def test_the_declared_class_is_the_true_one(algorithm: Algorithm, four_sites: Any) -> None:
    contribution = run(four_sites, algorithm)
    assert (contribution.update is not None) == (algorithm.homomorphic is Homomorphic.WEIGHTED_SUM)
    assert (contribution.shared is None) != algorithm.relays_models


def test_scores_respect_the_declared_bound(algorithm: Algorithm, four_sites: Any) -> None:
    score = run(four_sites, algorithm).score
    if score is not None:
        assert ((score >= 0) & (score <= algorithm.score_bound(FACTS))).all()


def test_both_engines_agree(algorithm: Algorithm, four_sites: Any) -> None:
    batched = run(four_sites, algorithm, trainer=BatchedTrainer)
    assert_same(tensors(batched), tensors(run(four_sites, algorithm, trainer=SequentialTrainer)))


def test_a_round_can_be_repeated_and_touches_none_of_its_inputs(algorithm: Algorithm, four_sites: Any) -> None:
    group = group_of(four_sites, algorithm)
    inputs = [group.theta_global, group.theta_initial, group.peers.models, group.peers.received, group.shard.x]
    inputs += group.state.values()
    copies = [tensor.clone() for tensor in inputs]
    first = tensors(algorithm.site_round(group, algorithm.options()))
    for now, before in zip(inputs, copies, strict=True):
        assert torch.equal(now, before)
    second = tensors(algorithm.site_round(group, algorithm.options()))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_sites_together_or_one_by_one(algorithm: Algorithm, four_sites: Any) -> None:
    """A deployed site is a group of one; the simulator's groups must not show."""
    together = tensors(run(four_sites, algorithm))
    alone = [tensors(run(four_sites, algorithm, (site,))) for site in (0, 1, 2, 3)]
    assert_same(together, {name: torch.cat([one[name] for one in alone]) for name in together})


def test_permuting_sites_permutes_the_results(algorithm: Algorithm, four_sites: Any) -> None:
    """Sites 1 and 2 are equally large, so either may stand first."""
    straight, swapped = tensors(run(four_sites, algorithm)), tensors(run(four_sites, algorithm, (0, 2, 1, 3)))
    assert_same({name: rows[[0, 2, 1, 3]] for name, rows in straight.items()}, swapped)


def test_every_site_has_a_model_to_use(algorithm: Algorithm, four_sites: Any) -> None:
    group = group_of(four_sites, algorithm)
    models = algorithm.personal_models(group, algorithm.options())
    assert models.shape == (4, four_sites.model.parameters)
    assert torch.isfinite(models).all()


def test_a_round_in_which_nobody_received_a_peer(algorithm: Algorithm, four_sites: Any) -> None:
    four_sites.received[:] = False
    for name, rows in tensors(run(four_sites, algorithm)).items():
        assert torch.isfinite(rows).all(), name


def test_a_round_runs_without_leaving_its_device(algorithm: Algorithm, four_sites: Any) -> None:
    """On `meta` a tensor left on the CPU, or a value asked back from the device, is an error."""
    contribution = run(four_sites, algorithm, device="meta")
    for name, rows in tensors(contribution).items():
        assert rows.device.type == "meta", name
        assert rows.shape[0] == 4, name

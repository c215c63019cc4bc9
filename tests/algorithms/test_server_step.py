"""Momentum of the global step and the smoothed model, worked by hand and for every method."""

import pytest
import torch

from secure_sapefl.algorithms import fedavg, lcfed
from secure_sapefl.algorithms.base import Homomorphic, NoOptions
from secure_sapefl.algorithms.lcfed import LcFedOptions
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.server_step import only_adds, with_server_step
from secure_sapefl.config import Config
from secure_sapefl.errors import BadInput

SUMMING = sorted(name for name, a in ALGORITHMS.items() if a.homomorphic is Homomorphic.WEIGHTED_SUM)
OTHERS = sorted(set(ALGORITHMS) - set(SUMMING))


def walked(algorithm, means, options=None):
    """The common row after each mean."""
    row = algorithm.initial_global(torch.tensor([1.0, 2.0]), options or NoOptions())
    rows = []
    for mean in means:
        row = algorithm.global_step(row, torch.tensor(mean), options or NoOptions())
        rows.append(row)
    return rows


def test_velocity_remembers_half_of_what_it_was():
    first, second = walked(with_server_step(fedavg.ALGORITHM, 0.5), [[1.0, 0.0], [0.0, 4.0]])
    assert first.tolist()[:4] == [2.0, 2.0, 1.0, 0.0]
    assert second.tolist()[:4] == [2.5, 6.0, 0.5, 4.0]


def test_the_smoothed_model_keeps_three_quarters_of_its_past_from_the_second_step_on():
    first, second, third = walked(with_server_step(fedavg.ALGORITHM, 0.0, 0.75), [[1.0, 0.0], [0.0, 4.0], [4.0, 0.0]])
    assert first.tolist() == [2.0, 2.0, 1.0, 0.0, 2.0, 2.0]
    assert second.tolist() == [2.0, 6.0, 0.0, 4.0, 2.0, 3.0]
    assert third.tolist() == [6.0, 6.0, 4.0, 0.0, 3.0, 3.75]


def test_momentum_moves_the_model_before_it_is_smoothed():
    _, second = walked(with_server_step(fedavg.ALGORITHM, 0.5, 0.5), [[1.0, 0.0], [0.0, 4.0]])
    assert second.tolist() == [2.5, 6.0, 0.5, 4.0, 2.25, 4.0]


@pytest.mark.parametrize("method", ["fedavg-ft-plus", "sapefl-plus"])
def test_a_method_that_uses_it_is_given_it(tiny_study, method):
    studies = [tiny_study(method, options={"smoothing": smoothing}) for smoothing in (0.0, 0.9)]
    newest, smoothed = (torch.stack([*study.run().models.thetas.values()]) for study in studies)
    assert not torch.allclose(newest, smoothed, atol=1e-3)
    assert studies[0].assembly.blueprint.algorithm is ALGORITHMS[method]


def test_what_a_method_holds_behind_the_model_moves_too():
    options = LcFedOptions(clusters=2)
    plain, faster = (
        walked(with_server_step(lcfed.ALGORITHM, m), [[1.0, 0.0, 3.0, 3.0, 0.0, 0.0]] * 2, options) for m in (0.0, 0.5)
    )
    assert torch.equal(faster[0][:6], plain[0])
    torch.testing.assert_close(faster[1][:6], plain[1] + 0.5 * (plain[0] - torch.tensor([1.0, 2.0] * 3)))


def test_without_momentum_a_method_is_what_it_was():
    assert with_server_step(fedavg.ALGORITHM, 0.0) is fedavg.ALGORITHM
    assert all(with_server_step(ALGORITHMS[name], 0.9) is ALGORITHMS[name] for name in OTHERS)


def test_only_a_sum_of_means_can_be_published():
    assert only_adds(fedavg.ALGORITHM)
    assert only_adds(with_server_step(fedavg.ALGORITHM, 0.0, 0.7))
    moved = (lcfed.ALGORITHM, with_server_step(fedavg.ALGORITHM, 0.5), with_server_step(lcfed.ALGORITHM, 0.5))
    assert [only_adds(one) for one in moved] == [False, False, False]


@pytest.mark.parametrize("method", SUMMING)
def test_every_method_with_a_sum_ends_elsewhere_and_encrypted_equals_plaintext(tiny_study, assert_twins, method):
    assert_twins(method, server_momentum=0.7)
    with_it, without = (tiny_study(method, server_momentum=m) for m in (0.7, 0.0))
    with_it.run(), without.run()
    parameters = with_it.assembly.blueprint.model.parameters
    thetas = [one.key_holders.theta_global[:parameters] for one in (with_it, without)]
    assert not torch.allclose(*thetas, atol=1e-3)


def test_shared_noise_has_a_momentum_of_its_own():
    with pytest.raises(BadInput, match="leave out --server-momentum"):
        Config(server_momentum=0.5, dp_noise="shared", dp_epsilon=4.0, dp_delta=1e-5)


@pytest.mark.parametrize("momentum", [-0.1, 1.0])
def test_impossible_momentum_is_answered(momentum):
    with pytest.raises(BadInput, match="server_momentum"):
        Config(server_momentum=momentum)

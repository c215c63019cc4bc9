"""Methods with steps and questions of their own: their private forms without noise and clipping are the plain ones.

Every record is in every step (rate 1) and a plain batch holds all rows, so both take the same steps. Events must have
noise; here it is too small to see.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms import fedas, sapefl_plus
from secure_sapefl.algorithms.base import Algorithm, Contribution
from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.models.stacked import Linear, Relu, StackedModel
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.group import PrivateGroup
from secure_sapefl.privacy.ledger import Ledger, Paid
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.sape.anchors import peer_anchors
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.tasks.builtin import CLASSIFICATION
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer

MODEL = StackedModel((Linear(3, 5), Relu(), Linear(5, 4), Relu(), Linear(4, 2)), classes=2, widest=5)
SIZES = (6, 4)
SILENT, UNBOUNDED = 1e-12, 1e4
Make = Callable[..., SiteGroup]


@pytest.fixture
def models() -> Tensor:
    drawn = [MODEL.initial(np.random.default_rng(i)) for i in range(6)]
    return torch.stack([drawn[0] + 0.3 * one for one in drawn])


@pytest.fixture
def make(models: Tensor) -> Make:
    """Two sites with models of their own and three peers' models; full batches, two epochs."""

    def group(algorithm: Algorithm, **changes: Any) -> SiteGroup:
        state = algorithm.initial_state(models[0], 2)
        if "theta_personal" in state:
            state["theta_personal"] = models[1:3].clone()
        rng = np.random.default_rng(1)
        x = torch.from_numpy(rng.normal(size=(10, 3)).astype(np.float32))
        fields: dict[str, Any] = {
            "theta_global": models[0],
            "theta_initial": models[5],
            "state": state,
            "peers": Peers(models[2:5], torch.tensor([[1, 1, 1], [0, 1, 1]], dtype=torch.bool)),
            "shard": Shard(x, (x[:, 0] > 0).long(), (0, 6), SIZES),
            "trainer": BatchedTrainer(MODEL),
            "streams": lambda purpose: [stream(4, purpose, site=c) for c in range(2)],
            "local_epochs": 2,
            "batch_size": max(SIZES),
            "lr": 0.1,
        }
        return SiteGroup(**(fields | changes))

    return group


def private(
    group: SiteGroup, algorithm: Algorithm, options: Any, noise: float = SILENT, clip: float = UNBOUNDED, seed: int = 0
) -> SiteGroup:
    """The group with everything paid for that the method declares; one step an epoch, of all records."""
    assert not isinstance(algorithm.releases, NotPrivate)
    releases = algorithm.releases(options, group.local_epochs)
    steps = {training.purpose: training.epochs for training in releases.trainings}
    steps |= {query.purpose: 1 for query in releases.queries}

    def paid() -> dict[Purpose, Paid]:
        ledger = Ledger("a", Budget(1e99, 0.1))
        events = [
            Event(
                mechanism="gaussian",
                release="update",
                noise_multiplier=noise,
                sample_rate=1.0,
                steps=count,
                round_index=0,
                study="s",
            )
            for count in steps.values()
        ]
        return dict(zip(steps, ledger.charge(events), strict=True))

    def randomness(purpose: Purpose) -> list[KeyedRandomness]:
        return [KeyedRandomness(np.random.default_rng((seed, g, purpose))) for g in range(group.size)]

    all_paid = tuple(paid() for _ in range(group.size))
    return replace(group, private=PrivateGroup(group.shard.sizes, all_paid, randomness, clip))


def both(make: Make, method: str, options: dict[str, Any], **changes: Any) -> tuple[Contribution, Contribution]:
    algorithm = ALGORITHMS[method]
    chosen, group = algorithm.options(**options), make(algorithm, **changes)
    silent = private(group, algorithm, chosen)
    return algorithm.site_round(group, chosen), algorithm.site_round(silent, chosen)


def assert_same(plain: Contribution, silent: Contribution, *, score: bool = True) -> None:
    assert plain.update is not None
    torch.testing.assert_close(silent.update, plain.update, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(dict(silent.state), dict(plain.state), atol=1e-5, rtol=1e-4)
    if score:
        torch.testing.assert_close(silent.score, plain.score, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("order", ["first", "hessian-free"])
def test_perfedavg(make: Make, order: str) -> None:
    assert_same(*both(make, "perfedavg", {"order": order, "inner_lr": 0.2}))


def test_fedafk(make: Make) -> None:
    assert_same(*both(make, "fedafk", {}))


@pytest.mark.parametrize(
    "options",
    [{"influence": 0.0, "start": "peers"}, {"influence": 0.5, "start": "peers"}, {"influence": 0.0, "start": "local"}],
    ids=str,
)
def test_sapefl_plus(make: Make, options: dict[str, Any]) -> None:
    """Who listens is decided otherwise in private, scores count weights, and nobody asks: all left out here."""
    plain, silent = both(make, "sapefl-plus", options | {"advice": 0.0})
    assert_same(plain, silent, score=options["influence"] == 0)
    assert plain.shared is not None
    torch.testing.assert_close(silent.shared, plain.shared, atol=1e-5, rtol=1e-4)


def test_sapefl_plus_listens_where_the_exact_mean_advantage_says_so(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sapefl_plus, "LARGEST_ADVANTAGE", 50.0)
    algorithm, heard, anchors = ALGORITHMS["sapefl-plus"], set(), []
    monkeypatch.setattr(sapefl_plus, "peer_anchors", lambda *given: anchors.append(peer_anchors(*given)) or anchors[-1])
    for seed in range(12):
        shift = torch.from_numpy(np.random.default_rng(seed).normal(size=MODEL.parameters).astype(np.float32))
        theta = MODEL.initial(np.random.default_rng(50 + seed)) + seed / 4 * shift
        chosen, group = algorithm.options(influence=0.0, similarity="raw"), make(algorithm, theta_global=theta)
        found = algorithm.site_round(private(group, algorithm, chosen), chosen).state["listens"]
        by_labels = CLASSIFICATION.label_shift
        assert by_labels is not None
        mix = by_labels(group.label_counts, group.row_counts.unsqueeze(1)).unsqueeze(1)
        common, peers = group.outputs(group.everywhere(theta)), group.outputs(anchors[-1].theta)
        answers = (torch.zeros_like(common) + mix, common + mix, peers)
        nothing, common, peers = (group.task.losses(one, group.labels) * group.present for one in answers)
        expected = (common - peers).sum(1) > 0.2 * (nothing - common).relu().sum(1)
        assert found.tolist() == expected.float().tolist()
        heard |= set(found.tolist())
    assert heard == {0.0, 1.0}


def test_fedas_where_a_class_has_one_record(make: Make) -> None:
    """A record's old features are then its class's mean, and K times the mean over records is the sum over classes."""
    x = torch.randn((4, 3), generator=torch.Generator().manual_seed(2))
    shard = Shard(x, torch.tensor([0, 1, 1, 0]), (0, 2), (2, 2))
    assert_same(*both(make, "fedas", {"alignment_lr": 0.1}, shard=shard), score=False)


def test_fisher_weights_are_sums_over_records_of_their_squared_gradients(make: Make, models: Tensor) -> None:
    """What the plain form gives with batches of one record, in units of the squared clip."""
    algorithm = ALGORITHMS["fedas"]
    group = make(algorithm)
    expected = fedas.fisher_trace(replace(group, batch_size=1), models[1:3])
    found = fedas.fisher_weights(private(group, algorithm, algorithm.options(), clip=10.0), models[1:3])
    torch.testing.assert_close(100 * found, expected)


def test_a_record_counts_for_one_at_most_in_fisher_weights(make: Make, models: Tensor) -> None:
    """Each record is cut, not their mean: the clip lies in the middle of the site's own squared gradients."""
    algorithm = ALGORITHMS["fedas"]
    group, theta = make(algorithm), models[1:3]
    squared = torch.zeros(2, max(SIZES))
    for t, (active, batch) in enumerate(replace(group, batch_size=1).steps(Purpose.FISHER_BATCHES, 1)):
        squared[:active, t] = group.trainer.gradient(theta[:active], batch, LocalLoss()).square().sum(1)
    clip = float(squared[0].median().sqrt())
    found = fedas.fisher_weights(private(group, algorithm, algorithm.options(), clip=clip), theta)
    torch.testing.assert_close(found, (squared / clip**2).clamp(max=1).sum(1))
    assert (squared[0] > clip**2).any()


def test_fisher_weights_carry_the_noise_that_was_paid_for(make: Make, models: Tensor) -> None:
    """One record moves the sum by at most 1: its noise is the multiplier itself. Clipped where half the records are."""
    algorithm = ALGORITHMS["fedas"]
    group = make(algorithm)
    exact = fedas.fisher_weights(private(group, algorithm, algorithm.options(), clip=1.0), models[1:3])
    drawn = [
        fedas.fisher_weights(private(group, algorithm, algorithm.options(), 0.2, 1.0, seed), models[1:3]) - exact
        for seed in range(60)
    ]
    assert ((exact > 1) & (exact < torch.tensor(SIZES) - 1)).all()
    assert float(torch.cat(drawn).std()) == pytest.approx(0.2, rel=0.2)


def test_fisher_weights_never_vanish(make: Make, models: Tensor) -> None:
    algorithm = ALGORITHMS["fedas"]
    group = make(algorithm)
    for seed in range(5):
        noisy = private(group, algorithm, algorithm.options(), noise=1e3, seed=seed)
        assert (fedas.fisher_weights(noisy, models[1:3]) > 0).all()


@pytest.mark.parametrize(
    ("method", "options", "steps"),
    [
        ("perfedavg", {}, 2),
        ("perfedavg", {"order": "hessian-free", "inner_lr": 1e-6}, 2),
        ("fedafk", {}, 2),
        ("fedas", {"alignment_lr": 1e-9}, 2),
        ("sapefl-plus", {}, 2),
    ],
    ids=str,
)
def test_an_update_carries_the_noise_that_was_paid_for(
    make: Make, method: str, options: dict[str, Any], steps: int
) -> None:
    """A walk of ``steps`` steps of lr * s C / n. The clip is so small that records hardly count beside it."""
    algorithm = ALGORITHMS[method]
    chosen, walks = algorithm.options(**options), []
    for seed in range(12):
        noisy = private(make(algorithm), algorithm, chosen, noise=100.0, clip=1e-4, seed=seed)
        update = algorithm.site_round(noisy, chosen).update
        assert update is not None
        deviation = 0.1 * 100.0 * 1e-4 * steps**0.5 / torch.tensor(SIZES).unsqueeze(1)
        walks.append(update / deviation)
    assert float(torch.cat(walks).std()) == pytest.approx(1, abs=0.1)


def test_the_curvature_of_a_probe_is_noised_too(make: Make) -> None:
    """With a large inner rate the Hessian-free step is v - alpha d, and d has noise of its own."""
    algorithm = ALGORITHMS["perfedavg"]
    spread = {}
    for order in ("first", "hessian-free"):
        chosen, found = algorithm.options(order=order, inner_lr=10.0), []
        for seed in range(12):
            noisy = private(make(algorithm), algorithm, chosen, noise=100.0, clip=1e-6, seed=seed)
            update = algorithm.site_round(noisy, chosen).update
            assert update is not None
            found.append(update / torch.tensor(SIZES).reciprocal().unsqueeze(1))
        spread[order] = float(torch.cat(found).std())
    assert spread["hessian-free"] / spread["first"] == pytest.approx(101**0.5, rel=0.15)

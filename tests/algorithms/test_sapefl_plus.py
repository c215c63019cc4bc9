"""What `sapefl-plus` adds, part by part. The conformance suite covers the rest."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from secure_sapefl.algorithms import sapefl, sapefl_plus
from secure_sapefl.algorithms.fedavg_ft_plus import ALGORITHM as CONTROL
from secure_sapefl.algorithms.fedavg_ft_plus import OwnModelOptions, advised
from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.algorithms.sapefl import Answers
from secure_sapefl.algorithms.sapefl_plus import ALGORITHM, SapePlusOptions
from secure_sapefl.config import Config
from secure_sapefl.conformance.sites import FourSites
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.sape.anchors import PeerAnchors, peer_anchors
from secure_sapefl.sape.similarity import similarity_scores
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss


def two_concepts(sites: int = 8, rows: int = 40) -> Federation:
    """Half of the sites call class 0 what the other half calls class 1."""
    rng = np.random.default_rng(0)

    def part(count: int, swapped: bool) -> Rows:
        x = rng.standard_normal((count, 4)).astype(np.float32)
        y = (x[:, 0] + 0.3 * x[:, 1] > 0).astype(np.int64)
        return Rows(x, 1 - y if swapped else y)

    clients = tuple(
        ClientData(name=f"site-{c}", train=part(rows, c % 2 == 1), test=part(200, c % 2 == 1)) for c in range(sites)
    )
    return Federation(
        dataset="two concepts", shape=(4,), class_names=("a", "b"), clients=clients, source="here", partition="given"
    )


def config(**options: object) -> Config:
    return Config(
        method="sapefl-plus", rounds=6, participation=1.0, local_epochs=2, protection="plaintext", options=options
    )


def test_sites_that_disagree_find_their_own_kind() -> None:
    simulation = Simulation(assemble(config(), two_concepts()))
    result = simulation.run()
    similarity = np.array(result.similarity_matrix, dtype=float)
    same = np.equal.outer(np.arange(8) % 2, np.arange(8) % 2) & ~np.eye(8, dtype=bool)
    assert np.nanmean(similarity[same]) > np.nanmean(similarity[~same & ~np.eye(8, dtype=bool)]) + 0.2
    assert simulation.assembly.sites.state["listens"].mean() == 1


def test_sites_with_other_labels_but_one_concept_stay_with_the_global_model() -> None:
    settings = config().model_copy(update={"clients": 20, "rounds": 10, "data_options": {"flip_y": 0.0, "rows": 3000}})
    simulation = Simulation(assemble(settings))
    simulation.run()
    assert simulation.assembly.sites.state["listens"].mean() < 0.3


@pytest.fixture
def group() -> SiteGroup:
    """Four sites, of which the first and the third listened when they last took part."""
    group = FourSites().ready(ALGORITHM)
    return replace(group, state={**group.state, "listens": torch.tensor([1.0, 0.0, 1.0, 0.0])})


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    """Who listens this round: the second and the third."""
    found = torch.tensor([False, True, True, False])
    monkeypatch.setattr(sapefl_plus, "_listens", lambda *_: found)
    return found


def test_without_listeners_it_is_its_control(group: SiteGroup) -> None:
    """Same base, same epochs, same mixture: what is left of the method is fine-tuning."""
    alone, options = replace(group, state={**group.state, "listens": torch.zeros(4)}), SapePlusOptions()
    used = ALGORITHM.personal_models(alone, options)
    assert torch.equal(used, CONTROL.personal_models(alone, OwnModelOptions(advice=options.advice)))
    among = ALGORITHM.personal_models(group, SapePlusOptions())
    assert [torch.allclose(one, other, atol=1e-3) for one, other in zip(used, among, strict=True)] == [
        *(False, True, False, True)
    ]


def test_a_listener_trains_the_common_body_under_a_head_of_its_kind(
    group: SiteGroup, heard: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(phi_G, (h_c + h_peers) / 2) where a site listens, theta_G elsewhere."""
    anchors: list[PeerAnchors] = []
    monkeypatch.setattr(sapefl_plus, "peer_anchors", lambda *given: anchors.append(peer_anchors(*given)) or anchors[-1])
    found = ALGORITHM.site_round(group, SapePlusOptions(advice=0))
    start, split = group.everywhere(group.theta_global).clone(), group.trainer.model.head_start
    start[heard, split:] = ((group.state["theta_personal"] + anchors[0].theta) / 2)[heard, split:]
    trained = group.train(start, LocalLoss(), Purpose.LOCAL_BATCHES)
    torch.testing.assert_close(found.shared, trained)
    assert found.update is not None
    assert found.update[heard, split:].abs().max() == 0  # its head would contradict the common one
    torch.testing.assert_close(found.update[heard, :split], (trained - group.theta_global)[heard, :split])
    torch.testing.assert_close(found.update[~heard], (trained - group.theta_global)[~heard])
    assert found.state["listens"].tolist() == [0.0, 1.0, 1.0, 0.0]
    advised = ALGORITHM.site_round(group, SapePlusOptions())
    torch.testing.assert_close(advised.shared[heard], found.shared[heard])  # who listens trains on its labels alone


def test_who_does_not_listen_asks_its_peers_about_its_labels(
    group: SiteGroup, heard: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their model where it has any, the global one otherwise."""
    anchors: list[PeerAnchors] = []
    monkeypatch.setattr(sapefl_plus, "peer_anchors", lambda *given: anchors.append(peer_anchors(*given)) or anchors[-1])
    alone = replace(group, peers=Peers(group.peers.models, group.peers.received & (torch.arange(4) != 3).unsqueeze(1)))
    found, others = ALGORITHM.site_round(alone, SapePlusOptions()).shared, ~heard
    assert anchors[0].present.tolist() == [True, True, True, False]
    asked = group.everywhere(group.theta_global).clone()
    asked[0] = anchors[0].theta[0]
    goal = advised(group, SapePlusOptions(), asked)
    expected = group.train(group.everywhere(group.theta_global), goal, Purpose.LOCAL_BATCHES)
    assert found is not None
    torch.testing.assert_close(found[others], expected[others])


@pytest.mark.usefixtures("heard")
def test_a_model_without_a_named_head_is_all_head(group: SiteGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    model = group.trainer.model
    monkeypatch.setattr(type(model), "head_start", model.parameters)
    found = ALGORITHM.site_round(group, SapePlusOptions()).update
    assert found is not None
    assert found.abs().amax(1).gt(0).tolist() == [True, False, False, True]


@pytest.mark.usefixtures("heard")
def test_who_never_took_part_begins_under_its_peers_heads(group: SiteGroup) -> None:
    new = replace(group, state=ALGORITHM.initial_state(group.theta_initial, 4))
    found = [ALGORITHM.site_round(new, SapePlusOptions(own_share=share)).shared for share in (0.0, 1.0)]
    torch.testing.assert_close(found[0], found[1])  # of its own head, which is nobody's, nothing is in it
    known = [ALGORITHM.site_round(group, SapePlusOptions(own_share=share)).shared for share in (0.0, 1.0)]
    assert not torch.allclose(known[0], known[1])


@pytest.mark.parametrize(("peers", "listens"), [(0.80, 0.0), (0.70, 1.0)])
def test_peers_have_to_explain_a_fifth_more_than_the_common_model(
    group: SiteGroup, monkeypatch: pytest.MonkeyPatch, peers: float, listens: float
) -> None:
    """Nothing known costs 2, the common model 1: it explains 1, so that peers listened to cost less than 0.8."""
    costs = iter((2.0, 1.0, peers + 0.001))
    monkeypatch.setattr(type(group.task), "losses", lambda *_: torch.full_like(group.present, next(costs)))
    found = ALGORITHM.site_round(group, SapePlusOptions()).state["listens"]
    assert found.tolist() == [listens, listens, listens, 0.0]  # one row is clear about nothing


def test_how_often_somebody_looks_changes_no_model() -> None:
    runs = []
    for every in (1, 6):
        simulation = Simulation(assemble(config().model_copy(update={"evaluate_every": every}), two_concepts(sites=4)))
        runs.append((simulation.run(), simulation.tensors()))
    (often, held), (once, held_too) = runs
    assert often.models is not None
    assert once.models is not None
    torch.testing.assert_close(once.models.thetas, often.models.thetas, rtol=0, atol=0)
    torch.testing.assert_close(held_too, held, rtol=0, atol=0, equal_nan=True)


def test_peers_are_asked_about_the_same_rows_once(group: SiteGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def watched(group: SiteGroup, x: torch.Tensor) -> Iterator[Answers]:
        asked.append(len(x))
        return sapefl.compared_answers(group, x)

    monkeypatch.setattr(sapefl_plus, "compared_answers", watched)
    statistics = ALGORITHM.site_round(group, SapePlusOptions()).statistics
    assert asked == [4]
    alike = sapefl.similarities(group, sapefl.SapeOptions())
    score = ALGORITHM.site_round(group, SapePlusOptions(weigh_rows=False)).score
    assert score is not None
    assert torch.equal(score, similarity_scores(alike, group.peers.received))
    assert not torch.equal(statistics["similarity"].nan_to_num(), alike * group.peers.received)  # peers: centred ones

"""What `sapefl-plus` adds, part by part. The conformance suite covers the rest."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch

from secure_sapefl.algorithms import sapefl, sapefl_plus
from secure_sapefl.algorithms.fedavg_ft_plus import ALGORITHM as CONTROL
from secure_sapefl.algorithms.fedavg_ft_plus import FineTuningOptions
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.sapefl import Answers
from secure_sapefl.algorithms.sapefl_plus import ALGORITHM, SapePlusOptions, from_common
from secure_sapefl.config import Config
from secure_sapefl.conformance.sites import FourSites
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.sape.similarity import similarity_scores
from secure_sapefl.training.trainer import BatchedTrainer


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


def test_without_anchors_peers_and_listening_it_is_its_control() -> None:
    """Same global model, same epochs, same averaging: what is left of the method is fine-tuning."""
    federation = two_concepts(sites=4)
    plus = Simulation(assemble(config(start="local", pseudo_rows=0), federation))
    plus.run()
    group = plus.assembly.sites.group(
        [0, 1],
        plus.key_holders.theta_global,
        0,
        plus.key_holders.peers(plus.server.open_round(9))[1].for_sites([0, 1]),
        _clock(),
    )
    torch.testing.assert_close(
        ALGORITHM.personal_models(group, SapePlusOptions(start="local", pseudo_rows=0)),
        _with_purpose_of_the_personal_step(group),
    )


def _clock():
    from secure_sapefl.stopwatch import Stopwatch

    return Stopwatch()


def _with_purpose_of_the_personal_step(group):
    """The control draws its batches from another stream; give it the personal step's."""
    from secure_sapefl.streams import Purpose

    streams = group.streams
    swapped = replace(group, streams=lambda p: streams(Purpose.PERSONAL_BATCHES if p is Purpose.FINE_TUNING else p))
    return CONTROL.personal_models(swapped, FineTuningOptions())


def test_averaging_is_the_mean_over_the_second_half_of_the_epochs() -> None:
    from secure_sapefl.streams import Purpose
    from secure_sapefl.training.objective import LocalLoss

    simulation = Simulation(assemble(config(), two_concepts(sites=2)))
    simulation.run()
    holders = simulation.key_holders
    _, peers, _ = holders.peers(simulation.server.open_round(9))
    group = simulation.assembly.sites.group([0], holders.theta_global, 0, peers.for_sites([0]), _clock())
    start = group.everywhere(group.theta_global)
    after = [group.train(start, LocalLoss(), Purpose.FINE_TUNING, epochs) for epochs in (3, 4)]
    found = group.train_averaged(start, LocalLoss(), Purpose.FINE_TUNING, 4)
    torch.testing.assert_close(found, torch.stack(after).mean(0))


def listening_in_part() -> SiteGroup:
    """Four sites, of which the first and the third live among peers."""
    group = FourSites().ready(ALGORITHM)
    return replace(group, state={**group.state, "listens": torch.tensor([1.0, 0.0, 1.0, 0.0])})


def test_only_who_stays_with_the_global_model_trains_again_and_comes_to_the_same_model() -> None:
    group, options, trained = listening_in_part(), SapePlusOptions(), []

    class Watched(BatchedTrainer):
        def train(self, theta: torch.Tensor, *args: Any) -> torch.Tensor:
            trained.append(len(theta))
            return super().train(theta, *args)

    used = ALGORITHM.personal_models(replace(group, trainer=Watched(group.trainer.model)), options)
    assert set(trained) == {2}
    everybody = from_common(group, options)
    listens = group.state["listens"].unsqueeze(1) > 0
    expected = torch.where(listens, group.state["theta_personal"], everybody)
    torch.testing.assert_close(used, expected, rtol=1e-5, atol=1e-6)  # another stack rounds otherwise


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


def test_where_all_live_among_peers_nobody_trains_again() -> None:
    group = listening_in_part()
    group = replace(group, state={**group.state, "listens": torch.ones(4)}, trainer=cast(BatchedTrainer, None))
    assert torch.equal(ALGORITHM.personal_models(group, SapePlusOptions()), group.state["theta_personal"])


def test_peers_are_asked_about_the_same_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    group, asked = listening_in_part(), []

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

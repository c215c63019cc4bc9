"""The sites' half by itself, beside a server of the test's own."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from secure_sapefl import AggregateOpened, Config, RunEvent
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.key_holders import KeyHolders
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.engine.uploads import UploadQueue
from secure_sapefl.protocol.messages import RoundOutcome, SealedModel, SiteId
from secure_sapefl.protocol.server import Server
from secure_sapefl.stopwatch import Stopwatch

Make = Callable[..., Config]


class Bench:
    """Sites and a server that has seen one round of theirs."""

    def __init__(self, config: Config) -> None:
        self.assembly = assemble(config)
        self.protection, study = self.assembly.protection(), self.assembly.blueprint.study
        self.holders = self.new_holders()
        self.relayed: dict[SiteId, SealedModel] = {}
        self.events: list[RunEvent] = []
        server, clock = Server(study, self.protection.adders(study), self.relayed), Stopwatch()
        with self.protection.protector() as protector:
            invitations, uploads = server.open_round(0), UploadQueue(server, clock, ())
            self.holders.answer(0, invitations, protector, uploads, clock, ())
        self.outcome: RoundOutcome = server.close_round()

    def new_holders(self) -> KeyHolders:
        return KeyHolders(self.assembly, self.protection.codec(), self.assembly.privacy())


@pytest.mark.parametrize("protection", ["plaintext", "ckks"])
def test_a_sum_moves_the_global_model_and_is_told(tiny: Make, protection: str) -> None:
    bench = Bench(tiny(protection=protection))
    before = bench.holders.theta_global.clone()
    assert bench.holders.absorb(bench.outcome, [bench.events.append]).weights
    (opened,) = bench.events
    assert isinstance(opened, AggregateOpened)
    assert opened.theta_global.equal(bench.holders.theta_global)
    assert not opened.theta_global.equal(before)


def test_a_sum_that_is_not_what_it_claims_moves_nobody(tiny: Make) -> None:
    bench = Bench(tiny(protection="ckks"))
    before = bench.holders.theta_global.clone()
    passed_off = bench.holders.absorb(replace(bench.outcome, round_index=1), [bench.events.append])
    assert (passed_off.weights, bench.events) == ((), [])
    assert [refusal.site for refusal in passed_off.refusals] == ["server"]
    assert bench.holders.theta_global.equal(before)


def test_what_was_saved_is_held_again_and_sealed_anew(tiny: Make) -> None:
    bench = Bench(tiny(protection="ckks"))
    bench.holders.absorb(bench.outcome, ())
    saved = {name: values.clone() for name, values in bench.holders.tensors().items()}
    again = bench.new_holders()
    models = {model.sender: model for model in again.restore(dict(saved))}
    assert models.keys() == bench.relayed.keys()
    assert all(models[site].blob != sealed.blob for site, sealed in bench.relayed.items())
    torch.testing.assert_close(again.tensors(), saved, atol=0, rtol=0)


def test_models_are_evaluated_every_so_many_rounds_and_after_the_last(tiny: Make) -> None:
    holders = Bench(tiny(rounds=3, evaluate_every=2)).holders
    evaluated = [bool(holders.evaluate(round_index)[0].accuracy.per_client) for round_index in range(3)]
    assert evaluated == [False, True, True]


@pytest.mark.parametrize("method", ALGORITHMS)
def test_how_often_somebody_looks_changes_no_number(tiny: Make, method: str) -> None:
    often, once = (simulate(tiny(method=method, rounds=3, evaluate_every=every)) for every in (1, 3))
    assert often.models is not None
    assert once.models is not None
    torch.testing.assert_close(once.models.thetas, often.models.thetas, rtol=0, atol=0)
    assert once.last.personal == often.last.personal


def test_a_method_that_relays_nothing_has_no_peers(tiny: Make) -> None:
    bench = Bench(tiny(method="fedavg"))
    study = bench.assembly.blueprint.study
    invitations = Server(study, bench.protection.adders(study), {}).open_round(0)
    owners, peers, refusals = bench.holders.peers(invitations)
    assert (owners, tuple(refusals), bool(peers.received.any())) == ((), (), False)

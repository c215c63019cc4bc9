"""Sites that join after training: by the protocol, once, paid for, and without a trace at the others."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.config import Config
from secure_sapefl.data import Rows
from secure_sapefl.engine import late
from secure_sapefl.engine.assembly import assemble, federation_of
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import Simulation, resume, simulate
from secure_sapefl.errors import BadInput, SapeflError
from secure_sapefl.protocol.messages import Invitation

Make = Callable[..., Config]
PRIVATE = {"dp_epsilon": 4.0, "dp_delta": 1e-5}


def run(config: Config) -> tuple[Simulation, dict[str, Any], Result]:
    simulation = Simulation(assemble(config))
    result = simulation.run()
    block = result.summary()["late_clients"]
    return simulation, block, result


@pytest.fixture
def with_late(tiny: Make) -> Make:
    return lambda **changes: tiny(**({"clients": 6, "late_clients": 2, "rounds": 2, "participation": 1.0} | changes))


def test_the_last_sites_are_held_back(with_late: Make) -> None:
    everybody = [client.name for client in federation_of(with_late()).clients]
    simulation, block, result = run(with_late())
    assert list(simulation.assembly.blueprint.study.sites) == everybody[:4]
    assert block["names"] == everybody[4:]
    assert len(result.accuracy.per_client) == 4
    for scores in (block, block["local_only"], block["global_model"], block["global_fine_tuned"]):
        assert len(scores["accuracy"]["per_client"]) == len(scores["auc"]["per_client"]) == 2
    assert (block["peers"], block["epochs"]) == ([4, 4], 2)
    assert block["bytes"]["down"] > 4 * result.parameters * 4


def test_a_configuration_says_how_many_there_are_in_all(with_late: Make) -> None:
    simulation = Simulation(assemble(with_late(clients=None, data_options={"rows": 400})))
    assert (simulation.config.clients, simulation.config.late_clients) == (20, 2)


def test_nothing_of_them_reaches_the_others(with_late: Make) -> None:
    """The same sites without latecomers end with the same models, messages and numbers."""
    config = with_late()
    simulation, _, result = run(config)
    whole = federation_of(config)
    alone = Simulation(
        assemble(config.model_copy(update={"late_clients": 0}), replace(whole, clients=whole.clients[:4]))
    )
    expected = alone.run()
    assert result.accuracy == expected.accuracy
    torch.testing.assert_close(simulation.tensors(), alone.tensors(), atol=0, rtol=0, equal_nan=True)
    assert simulation._relayed == alone._relayed  # nothing public shows what waits for the next round


def test_under_shared_noise_a_newcomer_sends_nothing_and_pays_nothing(with_late: Make) -> None:
    _, block, result = run(with_late(method="fedavg", dp_noise="shared", **PRIVATE))
    assert result.privacy is not None
    assert len(result.privacy["epsilon_shared_per_client"]) == 4
    assert (block["bytes"]["up"], block["privacy"], block["refused"]) == (0, None, [])
    assert len(block["accuracy"]["per_client"]) == 2


@pytest.mark.parametrize("method", ALGORITHMS)
def test_every_method_has_something_for_a_newcomer(with_late: Make, method: str) -> None:
    simulation, block, _ = run(with_late(method=method))
    assert all(0 <= value <= 1 for value in block["accuracy"]["per_client"])
    assert block["refused"] == []
    keeps_nothing = not ALGORITHMS[method].initial_state(simulation.assembly.sites.theta_initial, 1)
    assert (block["bytes"]["up"] == 0) == (keeps_nothing or method == "local")
    assert bool(block["bytes"]["down"]) == ALGORITHMS[method].relays_models
    assert (block["global_model"] is None) == (method in ("local", "fedacs"))


def test_a_newcomer_of_fedavg_uses_the_global_model(with_late: Make) -> None:
    _, block, _ = run(with_late(method="fedavg"))
    assert block["accuracy"] == block["global_model"]["accuracy"]


def test_what_a_site_can_do_alone_does_not_depend_on_the_others(with_late: Make) -> None:
    """The same whatever they did, and as long as a round of the method trains."""
    blocks = {name: run(with_late(method=name))[1] for name in ("fedavg", "ditto", "sapefl")}
    assert blocks["fedavg"]["local_only"] == blocks["ditto"]["local_only"]
    assert [block["epochs"] for block in blocks.values()] == [1, 1, 2]
    assert blocks["fedavg"]["global_model"] != blocks["fedavg"]["local_only"]


def test_a_newcomer_reads_its_peers_and_starts_from_the_global_model(
    with_late: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    original = late.run_round

    def watched(algorithm: Any, options: Any, group: Any, names: Any) -> Any:
        seen.append((group, names))
        return original(algorithm, options, group, names)

    monkeypatch.setattr(late, "run_round", watched)
    simulation, block, _ = run(with_late())
    ((group, names),) = seen
    assert sorted(names) == sorted(block["names"])
    assert torch.equal(group.state["theta_personal"], simulation.key_holders.theta_global.expand(2, -1))
    torch.testing.assert_close(group.peers.models, simulation.assembly.sites.state["theta_personal"])
    assert group.peers.received.all()


def test_peers_per_client_holds_for_newcomers_too(with_late: Make) -> None:
    assert run(with_late(peers_per_client=2))[1]["peers"] == [2, 2]


def test_a_forged_model_is_left_out_and_named(with_late: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    original = late.LateSites._invitations  # the server is ours: nobody forges but on this way

    def forged(self: late.LateSites, relayed: Any) -> list[Invitation]:
        found = original(self, relayed)
        bad = replace(found[0].models[0], blob=b"nonsense")
        return [replace(one, models=(bad, *one.models[1:])) for one in found]

    monkeypatch.setattr(late.LateSites, "_invitations", forged)
    _, block, _ = run(with_late())
    assert [one["site"] for one in block["refused"]] == [federation_of(with_late()).clients[0].name]
    assert "left out by its peers" in block["refused"][0]["reason"]


def test_encrypted_equals_plaintext(with_late: Make) -> None:
    plain, encrypted = (run(with_late(protection=name))[1] for name in ("plaintext", "ckks"))
    assert plain["accuracy"] == encrypted["accuracy"]
    assert encrypted["bytes"]["up"] > plain["bytes"]["up"]


@pytest.mark.parametrize("method", ["sapefl", "ditto", "fedavg-ft"])
def test_a_newcomer_pays_for_its_round(with_late: Make, method: str, tmp_path: Path) -> None:
    """Of its own ledger, within the budget; a method without a round costs it nothing."""
    config = with_late(method=method, dp_ledgers=tmp_path, **PRIVATE)
    _, block, result = run(config)
    spent = block["privacy"]["epsilon_per_client"]
    assert all(3.8 < one <= 4 for one in spent) if method != "fedavg-ft" else spent == [0, 0]
    assert len(result.summary()["privacy"]["epsilon_per_client"]) == 4
    ledger = [json.loads(line) for line in (tmp_path / f"{block['names'][0]}.jsonl").read_text().splitlines()]
    assert [one["round_index"] for one in ledger] == [2] * {"sapefl": 3, "ditto": 1, "fedavg-ft": 0}[method]


def test_a_newcomer_s_round_goes_through_the_mechanisms(with_late: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    protected = []
    original = late.run_round

    def watched(algorithm: Any, options: Any, group: Any, names: Any) -> Any:
        protected.append(group.private is not None)
        return original(algorithm, options, group, names)

    monkeypatch.setattr(late, "run_round", watched)
    run(with_late(**PRIVATE))
    assert protected == [True]


def test_a_newcomer_without_budget_keeps_the_global_model(with_late: Make, tmp_path: Path) -> None:
    config = with_late(dp_ledgers=tmp_path, **PRIVATE)
    _, first, _ = run(config)
    for trained in federation_of(config).clients[:4]:
        for file in tmp_path.glob(f"{trained.name}.*"):  # the ledger and its head
            file.unlink()
    _, block, _ = run(config)
    assert {one["site"] for one in block["refused"]} == set(first["names"])
    assert "privacy budget" in block["refused"][0]["reason"]
    assert block["accuracy"] == block["global_model"]["accuracy"]


def test_a_ledger_in_use_is_found_before_the_first_round(with_late: Make, tmp_path: Path) -> None:
    config = with_late(dp_ledgers=tmp_path, **PRIVATE)
    running = Simulation(assemble(config))
    with pytest.raises(SapeflError, match="held by process"):
        Simulation(assemble(config))
    del running


@pytest.mark.parametrize("privacy", [{}, PRIVATE], ids=["plain", "private"])
def test_a_stopped_run_resumes_to_the_same_block(
    with_late: Make, stop_after: Callable[..., None], tmp_path: Path, privacy: dict[str, float]
) -> None:
    whole = simulate(with_late(**privacy), tmp_path / "whole").summary()["late_clients"]
    stop_after(with_late(**privacy), tmp_path / "stopped", 1)
    assert resume(tmp_path / "stopped").summary()["late_clients"] == whole


def test_a_run_that_has_ended_is_not_paid_for_again(with_late: Make, tmp_path: Path) -> None:
    config = with_late(dp_ledgers=tmp_path / "ledgers", **PRIVATE)
    first = simulate(config, tmp_path / "run").summary()["late_clients"]
    assert resume(tmp_path / "run").summary()["late_clients"] == first


def test_somebody_has_to_train(with_late: Make) -> None:
    with pytest.raises(BadInput, match="--late-clients is 6 and there are 6 sites"):
        Simulation(assemble(with_late(late_clients=6)))


def test_late_sites_too_small_for_privacy_are_named_as_such(with_late: Make) -> None:
    whole = federation_of(with_late())
    few = [replace(one, train=Rows(one.train.X[:9], one.train.y[:9])) for one in whole.clients[4:]]
    with pytest.raises(BadInput, match=r"Of the late sites: No site has as many rows as a batch \(16\)"):
        Simulation(assemble(with_late(**PRIVATE), replace(whole, clients=(*whole.clients[:4], *few))))


def test_without_late_sites_a_summary_says_so(tiny: Make) -> None:
    assert Simulation(assemble(tiny(rounds=1))).run().summary()["late_clients"] is None

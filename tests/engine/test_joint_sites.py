"""Simulated studies with joint keys: the legs are run for real, and the numbers are those of the plaintext twin."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import assemble, federation_of
from secure_sapefl.engine.events import MessageSent, RunEvent
from secure_sapefl.engine.simulator import Simulation, resume, simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.joint.messages import Certified, Delivery, Endorsement, KeyWanted, Proposal, SealedAnswer
from secure_sapefl.protocol.messages import AnnouncedKey, RoundUpload

Make = Callable[..., Config]
JOINT: dict[str, Any] = {"keys": "joint", "protection": "ckks", "rounds": 2, "participation": 1.0}


@pytest.mark.parametrize("method", ALGORITHMS)
def test_every_method_gives_the_numbers_of_its_plaintext_twin(tiny: Make, method: str) -> None:
    joint, twin = (Simulation(assemble(tiny(**JOINT | {"method": method, "protection": p}))) for p in PROTECTIONS)
    left, right = joint.run(), twin.run()
    assert left.accuracy == right.accuracy
    assert [dict(record.weights) for record in left.rounds] == [dict(record.weights) for record in right.rounds]
    assert joint.key_holders.theta_global.equal(twin.key_holders.theta_global)
    for name, rows in joint.assembly.sites.state.items():
        assert rows.equal(twin.assembly.sites.state[name]), name


PROTECTIONS = ("ckks", "plaintext")


def test_shared_keys_are_the_default_and_another_plan(tiny: Make) -> None:
    assert Config().keys == "shared"
    shared, joint = (simulate(tiny(keys=keys, protection="plaintext", rounds=1)) for keys in ("shared", "joint"))
    assert [max(dict(run.rounds[0].weights).values()) for run in (shared, joint)] == [2**10, 2**5]
    assert (shared.summary()["keys"], joint.summary()["keys"]) == ("shared", "joint")


def test_the_legs_pass_as_messages_and_count_as_traffic(tiny: Make) -> None:
    passed: list[MessageSent] = []

    def hear(event: RunEvent) -> None:
        passed.extend([event] if isinstance(event, MessageSent) else [])

    result = simulate(tiny(**JOINT | {"method": "fedavg", "rounds": 1}), observers=[hear])
    kinds = [type(event.message) for event in passed]
    for kind in (KeyWanted, AnnouncedKey, Delivery, Proposal, Endorsement, Certified, SealedAnswer):
        assert kinds.count(kind) == 4, kind
    sizes = {kind: sum(event.message.size for event in passed if type(event.message) is kind) for kind in set(kinds)}
    up = sum(sizes[kind] for kind in (RoundUpload, AnnouncedKey, Endorsement, SealedAnswer)) / 4
    assert result.summary()["bytes"]["up_per_client_round"] == pytest.approx(up)
    (upload, *_) = (event.message for event in passed if isinstance(event.message, RoundUpload))
    assert [share.member for share in upload.shares] == list(
        dict.fromkeys(e.sender for e in passed if e.sender != "server")
    )
    assert sum(len(share.content) for share in upload.shares) > 2 * 30_000, "two of four shares are no seeds"


def test_a_run_that_was_stopped_goes_on_with_new_keys_and_the_same_numbers(
    tiny: Make, tmp_path: Path, stop_after: Callable[..., None], numbers: Callable[..., Any]
) -> None:
    config = tiny(**JOINT | {"rounds": 3, "participation": 0.75})
    whole = simulate(config)
    stop_after(config, tmp_path / "run", 1)
    assert numbers(resume(tmp_path / "run").summary()) == numbers(whole.summary())


def test_late_sites_open_what_was_sealed_for_them(tiny: Make) -> None:
    config = tiny(**JOINT | {"clients": 5, "late_clients": 1})
    joint, twin = (simulate(config.model_copy(update={"protection": p})).late_clients for p in PROTECTIONS)
    assert joint is not None
    assert twin is not None
    assert joint["peers"] == [4]
    assert (joint["refused"], joint["accuracy"]) == ([], twin["accuracy"])
    assert joint["bytes"]["up"] > twin["bytes"]["up"]


def test_forty_sites_draw_a_committee_and_the_rest_send_all_the_same(tiny: Make) -> None:
    config = tiny(
        **JOINT | {"method": "fedavg", "clients": 40, "rounds": 1, "data_options": {"rows": 800, "classes": 2}}
    )
    announced = []

    def hear(event: RunEvent) -> None:
        if isinstance(event, MessageSent) and isinstance(event.message, AnnouncedKey):
            announced.append(event.sender)

    result = simulate(config, observers=[hear])
    assert len(announced) == 31
    assert len(result.rounds[0].weights) == 40


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"clients": 2}, "need 3 senders in a round, and 2 of 2 sites take part"),
        ({"scores": "hidden"}, "Joint keys and hidden scores do not go together"),
        ({"colluders": 3}, r"\(--colluders 3\) need 5 senders"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_trained(tiny: Make, changes: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        assemble(tiny(**JOINT | changes))


def test_a_spent_site_drops_out_and_the_others_go_on(tiny: Make) -> None:
    """Budgets for one round in two: whoever cannot pay sends nothing, and numbers stay the twin's."""
    private = {"dp_epsilon": 2.0, "dp_delta": 1e-3, "method": "fedavg", "data_options": {"rows": 400, "classes": 2}}
    joint, twin = (simulate(tiny(**JOINT | private | {"protection": p})) for p in PROTECTIONS)
    assert joint.accuracy == twin.accuracy
    assert joint.summary()["refused"] == twin.summary()["refused"]


def test_sites_may_be_called_as_hospitals_are(tiny: Make) -> None:
    """Names that no key file could bear: nothing of a simulated site is ever written into one."""
    federation = federation_of(tiny())
    called = zip(federation.clients, ("north wing", "Łódź", "../a"), strict=False)
    others = federation.clients[3:]
    renamed = replace(federation, clients=(*(replace(client, name=name) for client, name in called), *others))
    settings = JOINT | {"method": "fedavg", "rounds": 1}
    joint, twin = (simulate(tiny(**settings | {"protection": p}), federation=renamed) for p in PROTECTIONS)
    assert joint.accuracy == twin.accuracy
    assert joint.facts["client_names"][:2] == ["north wing", "Łódź"]

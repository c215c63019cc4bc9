"""The server gathers nonces: the first word of a site counts, a restart forgets nothing, lies are left out."""

from collections.abc import Callable
from typing import Any

import pytest

from secure_sapefl.coordinator.joint.consents import Consents
from secure_sapefl.protocol.joint.consents import Call, Settled, commitment, opening

World = Callable[..., Any]


@pytest.fixture
def deployed(world: World) -> Any:
    return world(method="fedavg", keys="joint")


def answer(deployed: Any, name: str, call: Call, nonce: bytes = b"n" * 32) -> Any:
    from secure_sapefl.protocol.joint.consents import digest_of

    identity, study = deployed.identities[name], deployed.file.wire_name
    if not call.commitments:
        return commitment(identity, study, nonce)
    return opening(identity, study, nonce, digest_of(call.commitments))


def test_two_rounds_of_words_and_then_all_nonces(deployed: Any) -> None:
    path = deployed.folder / "consents.json"
    consents = Consents(path, deployed.file)
    for _ in range(2):
        assert consents.waiting == list(deployed.file.sites)
        for name in deployed.file.sites:
            consents.hear(answer(deployed, name, consents.call_for(name)))
    assert consents.nonces == dict.fromkeys(deployed.file.sites, b"n" * 32)
    again = Consents(path, deployed.file)
    assert again.nonces == consents.nonces
    assert len(again.call_for("north").openings) == 4
    again.hear(Settled(site="north"))
    assert again.call_for("north") is None


def test_a_second_commitment_or_a_false_nonce_changes_nothing(deployed: Any, caplog: pytest.LogCaptureFixture) -> None:
    consents = Consents(deployed.folder / "consents.json", deployed.file)
    for name in deployed.file.sites:
        consents.hear(answer(deployed, name, Call()))
    consents.hear(answer(deployed, "north", Call(), b"m" * 32))
    call = consents.call_for("north")
    consents.hear(answer(deployed, "north", call, b"m" * 32))
    assert "its nonce is not the one it committed to" in caplog.text
    assert consents.waiting[0] == "north"

"""What a hostile coordinator writes to a member over its own signature, and what the member's agent makes of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sapefl_crypto.errors import CryptoError
from sapefl_crypto.joint import round_key
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.round_key import share_context
from sapefl_crypto.joint.sealing import LastingKey, SealingKey
from secure_sapefl.protocol.joint.messages import Certified, Delivery, Endorsement, KeysGone, Proposal, Receipt
from secure_sapefl.protocol.messages import AnnouncedKey
from secure_sapefl.transport.wire import ToServer, ToSite, read_to_server, write_to_site

World = Callable[..., Any]


def at(world: World, stage: str, **fields: Any) -> Any:
    deployed = world(**{"method": "fedavg", "rounds": 1, "keys": "joint"} | fields)
    deployed.start_all()
    deployed.run(until=lambda server: server.rounds.open is not None and legs(server).stage == stage)
    return deployed


def legs(server: Any) -> Any:
    return server.rounds.server.legs


def write(deployed: Any, name: str, **content: Any) -> ToServer:
    message = ToSite(site=name, round_index=deployed.server.round_index, nonce="n", **content)
    parts = write_to_site(message, deployed.coordinator_identity, deployed.file.wire_name)
    answer = deployed.agents[name].answer(parts)
    return read_to_server(answer, deployed.file.keys_by_name, deployed.file.wire_name)


def altered(claim: bytes, **changes: int | None) -> bytes:
    """The same claim with other weights; None takes a sender out."""
    claimed = JointClaim.from_bytes(claim)
    parts = tuple(
        replace(part, weight=changes.get(part.sender, part.weight))
        for part in claimed.claim
        if changes.get(part.sender, 1) is not None
    )
    return replace(claimed, claim=replace(claimed.claim, parts=parts)).to_bytes()


def test_one_claim_a_round_whoever_is_shown_what_and_whoever_crashes(world: World) -> None:
    deployed = at(world, "claim")
    proposal = legs(deployed.server).duty_for("north")
    assert isinstance(proposal, Proposal)
    first = write(deployed, "north", duty=proposal).deed
    assert isinstance(first, Endorsement)
    assert first.signature
    for other in (altered(proposal.claim, west=None), altered(proposal.claim, west=1)):
        said = write(deployed, "north", duty=replace(proposal, claim=other)).deed
        assert isinstance(said, Endorsement)
        assert (said.signature, said.declined is not None) == (b"", True)
    uncertified = Certified(round_index=0, attempt=0, claim=proposal.claim, certificate=b"SPJX\1" + bytes(33))
    refused = write(deployed, "north", duty=uncertified).deed
    assert "certifies another claim" in refused.declined
    deployed.start_agent("north")
    assert write(deployed, "north", duty=proposal).deed == KeysGone(site="north")
    later = replace(proposal, attempt=1)
    assert write(deployed, "north", duty=later).deed == KeysGone(site="north")
    assert len(deployed.ledgers["north"].events("signed")) == 1


def test_every_member_another_weight_of_one_site_and_nobody_signs(world: World) -> None:
    deployed = at(world, "claim")
    for weight, name in enumerate(("north", "east", "south"), 1):
        proposal = legs(deployed.server).duty_for(name)
        said = write(deployed, name, duty=replace(proposal, claim=altered(proposal.claim, west=weight))).deed
        assert "signed another weight" in said.declined
        assert not deployed.ledgers[name].events("signed")


def test_a_share_replayed_in_another_attempt_or_round_is_no_good(world: World) -> None:
    deployed = at(world, "deliveries")
    delivery = legs(deployed.server).duty_for("north")
    assert isinstance(delivery, Delivery)
    deployed.server.rounds.open = deployed.server.rounds._begin(0)  # as if members had lost their keys
    deployed.run(until=lambda server: legs(server).stage == "uploads")
    said = write(deployed, "north", duty=replace(delivery, attempt=1)).deed
    assert isinstance(said, Receipt)
    assert len(said.complaints) == 4
    assert write(deployed, "north", duty=delivery).deed is None, "an attempt that is over"
    assert "a later one has begun" in deployed.ledgers["north"].events("refused")[-1].note
    assert write(deployed, "north", duty=replace(delivery, round_index=5)).deed is None


def test_a_key_of_the_servers_making_is_seen_before_anything_is_paid(world: World) -> None:
    deployed = at(world, "uploads", privacy={"epsilon": 8.0, "delta": 1e-4})
    invitation = deployed.server.rounds.server.invitation("north")
    forged = AnnouncedKey(site="east", content=SealingKey().public + invitation.keys[0].content[32:])
    keys = tuple(forged if key.site == "east" else key for key in invitation.keys)
    said = write(deployed, "north", invitation=replace(invitation, keys=keys))
    assert said.upload is None
    assert "signature of 'east'" in str(said.declined)
    too_few = write(deployed, "north", invitation=replace(invitation, keys=invitation.keys[:2]))
    assert "2 of 4 members are here" in str(too_few.declined)
    assert deployed.agents["north"].epsilon == 0


@pytest.mark.parametrize("stage", ["deliveries", "claim"])
def test_a_halted_member_does_nothing(world: World, stage: str) -> None:
    deployed = at(world, stage)
    (deployed.folder / "north" / "halted").write_text("because")
    assert write(deployed, "north", duty=legs(deployed.server).duty_for("north")).deed is None


def test_what_is_left_on_a_disk_opens_no_update(world: World) -> None:
    """Forward secrecy: after the round a site's folder has neither keys, nor shares, nor its own update."""
    deployed = at(world, "uploads")
    assert not list(deployed.folder.glob("*/answer.npz"))
    deployed.run()
    for name in deployed.file.sites:
        kept = {path.name for path in (deployed.folder / name).iterdir()}
        assert kept <= {"state.npz", "upload", "judged.json", "judged.jsonl"}
    assert {path.name for path in (deployed.folder / "server" / "open").iterdir()} == {"attempt.json"}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[bytes]]:
    """What sites make for a round, as bytes: public sealing keys, private ones, numbers of the keys of updates."""
    made: dict[str, list[bytes]] = {"public": [], "private": [], "numbers": []}
    new_sealing, new_secret = SealingKey.__init__, round_key.fresh_secret

    def sealing(key: SealingKey) -> None:
        new_sealing(key)
        made["public"].append(key.public)
        made["private"].append(key._private.private_bytes_raw())  # type: ignore[union-attr]

    def secret() -> Any:
        numbers = new_secret()
        made["numbers"].append(numbers[:4].tobytes())
        return numbers

    monkeypatch.setattr(SealingKey, "__init__", sealing)
    monkeypatch.setattr(round_key, "fresh_secret", secret)
    return made


@pytest.mark.parametrize("stage", ["deliveries", "answers"])
def test_no_key_of_a_round_is_ever_on_a_disk(world: World, secrets: dict[str, list[bytes]], stage: str) -> None:
    """Neither while the round lasts nor after it, at no site and not at the server: a stolen disk has none. Public keys
    are in every frame on disk, so the search would find what is there."""
    deployed = at(world, stage)
    for _ in range(2):
        disks = b"".join(path.read_bytes() for path in deployed.folder.rglob("*") if path.is_file())
        assert any(public in disks for public in secrets["public"])
        assert not [one for kind in ("private", "numbers") for one in secrets[kind] if one in disks]
        deployed.run()
    assert len(secrets["numbers"]) == len(deployed.file.sites)


def test_shares_on_a_disk_open_with_nothing_that_is_on_one(world: World) -> None:
    """Every site's upload stays on its disk, with the shares of its key; identities are on disk for good."""
    deployed = at(world, "uploads")
    deployed.run()
    terms, tried = deployed.terms.joint(), 0
    for sender in deployed.file.sites:
        upload = deployed.agents[sender]._files.upload()  # as a thief of the disk reads it
        for share in upload.shares:
            context = share_context(terms.about(0), sender, share.member)
            for thief in deployed.identities.values():
                with pytest.raises(CryptoError):
                    LastingKey(thief).unseal(share.content, context=context)
                tried += 1
    assert tried == 4**3


def test_an_update_is_gone_before_its_round_counts_as_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that is killed in between would else keep it for ever: nobody closes a round for it twice."""
    deployed = at(world, "answers")
    agent, answers = deployed.agents["north"], deployed.folder / "north" / "answer.npz"
    assert answers.exists()
    monkeypatch.setattr(agent, "_keep", killed)
    with pytest.raises(KeyboardInterrupt):
        deployed.run()
    assert not answers.exists()
    deployed.start_agent("north")
    deployed.server.forget_nodes()
    deployed.run()
    assert deployed.agents["north"].state.theta_global.equal(deployed.agents["east"].state.theta_global)


def killed(*_: object) -> None:
    raise KeyboardInterrupt

"""What is said of nonces survives the wire."""

import json

import pytest

from secure_sapefl.protocol.joint.consents import Call, Commitment, Opening, Said, Settled
from secure_sapefl.transport.heads.consents import call_head, read_call, read_said, said_head

COMMITMENT = Commitment(site="a", digest=bytes(32), signature=b"s" * 64)
OPENING = Opening(site="a", nonce=b"n" * 32, seen=bytes(32), signature=b"s" * 64)


@pytest.mark.parametrize(
    "call", [Call(), Call(commitments=(COMMITMENT,)), Call(commitments=(COMMITMENT,), openings=(OPENING,))]
)
def test_calls_come_back(call: Call) -> None:
    assert read_call(json.loads(json.dumps(call_head(call)))) == call


@pytest.mark.parametrize("said", [COMMITMENT, OPENING, Settled(site="a")])
def test_what_sites_say_comes_back_in_the_signers_name(said: Said) -> None:
    assert read_said(json.loads(json.dumps(said_head(said))), "a") == said


def test_anything_else_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing that is said of a nonce"):
        read_said({"kind": "other"}, "a")

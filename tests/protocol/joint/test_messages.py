"""Messages know what they weigh, so that traffic is counted from what passes."""

from secure_sapefl.protocol.joint.messages import (
    Certified,
    Delivery,
    Endorsement,
    KeyWanted,
    Parcel,
    Proposal,
    Receipt,
    SealedAnswer,
)
from secure_sapefl.protocol.messages import AnnouncedKey, Invitation, Refusal, RoundUpload, SealedShare

WHEN = {"round_index": 3, "attempt": 1}


def test_sizes_by_hand() -> None:
    parcel = Parcel(sender="a", manifest=bytes(300), share=bytes(80))
    assert KeyWanted(**WHEN).size == 0
    assert Delivery(**WHEN, parcels=(parcel, parcel)).size == 760
    assert Proposal(**WHEN, claim=bytes(50)).size == 50
    assert Certified(**WHEN, claim=bytes(50), certificate=bytes(70)).size == 120
    assert AnnouncedKey(site="a", content=bytes(96)).size == 96
    assert Receipt(site="a", complaints=(Refusal("b", "no good"),)).size == 7
    assert Endorsement(site="a", signature=bytes(64)).size == 64
    assert SealedAnswer(site="a", content=bytes(1000)).size == 1000


def test_shares_and_keys_count_where_they_ride() -> None:
    shares = (SealedShare(member="a", content=bytes(80)), SealedShare(member="b", content=b""))
    upload = RoundUpload(
        site="c", round_index=3, similarity_score=1.0, update=bytes(500), theta_personal=None, shares=shares
    )
    assert upload.size == 8 + 500 + 80
    keys = (AnnouncedKey(site="a", content=bytes(96)),)
    assert Invitation(site="c", round_index=3, peers=(), models=(), keys=keys).size == 96

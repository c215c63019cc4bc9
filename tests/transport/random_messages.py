"""Outcomes and uploads as nobody would write them, for tests of what carries them."""

from hypothesis import strategies as st

from secure_sapefl.protocol.messages import Refusal, RoundOutcome, RoundUpload, SealedModel, SealedShare

blobs = st.binary(max_size=40)
names = st.text("abcdefghij", min_size=1, max_size=8)
counts = st.integers(0, 1000)
words = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=20)
outcomes = st.builds(
    RoundOutcome,
    round_index=counts,
    aggregate=st.none() | blobs,
    weights=st.lists(st.tuples(names, counts), max_size=3).map(tuple),
    refusals=st.lists(st.builds(Refusal, names, words), max_size=3).map(tuple),
)
uploads = st.builds(
    lambda index, score, update, blob, shares: RoundUpload(
        site="north",
        round_index=index,
        similarity_score=score,
        update=update,
        theta_personal=None if blob is None else SealedModel(sender="north", round_index=index, blob=blob),
        shares=shares,
    ),
    counts,
    st.floats(0, 100),
    st.none() | blobs,
    st.none() | blobs,
    st.lists(st.builds(SealedShare, member=names, content=blobs), max_size=3).map(tuple),
)

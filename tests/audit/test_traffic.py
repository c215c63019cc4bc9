"""Sizes and times as an observer has them, without opening anything."""

from collections.abc import Callable

from secure_sapefl import Config
from secure_sapefl.audit.recording import RoundMessages
from secure_sapefl.audit.traffic import Sizes, time_sites
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.protocol.messages import RoundOutcome, RoundUpload, SealedModel


def messages(*uploads: RoundUpload) -> RoundMessages:
    outcome = RoundOutcome(round_index=0, aggregate=None, weights=(), refusals=())
    return RoundMessages(invitations=(), uploads=uploads, outcome=outcome, seconds=(0.5,) * len(uploads))


def upload(site: str, update: bytes | None, sealed: bytes | None) -> RoundUpload:
    model = None if sealed is None else SealedModel(sender=site, round_index=0, blob=sealed)
    return RoundUpload(site=site, round_index=0, similarity_score=1.0, update=update, theta_personal=model)


def test_a_senders_name_does_not_count_among_its_sizes() -> None:
    sizes = Sizes()
    sizes.hear(messages(upload("a", b"x" * 11, b"y" * 6), upload("long", b"x" * 14, b"y" * 9)))
    assert sizes.to_json() == {"update": [10], "theta_personal": [5]}
    assert sizes.by_site == {"a": {0: 15.0}, "long": {0: 15.0}}


def test_a_site_that_sends_less_is_seen() -> None:
    sizes = Sizes()
    sizes.hear(messages(upload("a", b"x" * 11, None), upload("b", None, b"y" * 6)))
    assert sizes.to_json() == {"update": [0, 10], "theta_personal": [0, 5]}


def test_every_site_is_timed_alone_in_two_rounds(small: Callable[..., Config]) -> None:
    config = small()
    times = time_sites(config, federation_of(config)).by_site
    assert len(times) == 4
    assert all(set(rounds) == {0, 1} and min(rounds.values()) > 0 for rounds in times.values())

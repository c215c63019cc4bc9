"""From a site's own result to the message that leaves it, where its update gets a key of its own."""

from secure_sapefl.protocol.answer import Answer, sealed_model
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.joint.site import SiteLegs
from secure_sapefl.protocol.messages import AnnouncedKey, RoundUpload
from secure_sapefl.protocol.study import Study


def protect_jointly(
    answer: Answer, legs: SiteLegs, keys: tuple[AnnouncedKey, ...], codec: SiteCodec, study: Study, round_index: int
) -> RoundUpload:
    """The only way from an `Answer` to a message in a study with joint keys that sums updates."""
    assert answer.update is not None, "a study that only relays has no committee"
    update, shares = legs.encrypt(answer.update, answer.similarity_score, keys)
    return RoundUpload(
        site=answer.site,
        round_index=round_index,
        similarity_score=answer.similarity_score,
        update=update,
        theta_personal=sealed_model(answer, codec, study, round_index),
        shares=shares,
    )

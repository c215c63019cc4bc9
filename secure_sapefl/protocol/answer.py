"""From a site's own result to the message that leaves it. Needs no torch, so that a process that only encrypts starts
in a moment.
"""

from dataclasses import dataclass

from secure_sapefl.protocol.codec import Codec, SiteCodec, Vector
from secure_sapefl.protocol.messages import RoundUpload, SealedModel, SiteId
from secure_sapefl.protocol.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One site's result before protection; it stays inside the site."""

    site: SiteId
    similarity_score: float
    update: Vector | None
    theta_personal: Vector | None


def protect(answer: Answer, codec: Codec, study: Study, round_index: int) -> RoundUpload:
    """The only way from an `Answer` to a message. Refuses an update outside the study's bound before encrypting it."""
    return RoundUpload(
        site=answer.site,
        round_index=round_index,
        similarity_score=answer.similarity_score if study.scores == "open" else 0.0,
        update=None if answer.update is None else _encrypted(answer.update, answer, codec, study, round_index),
        theta_personal=sealed_model(answer, codec, study, round_index),
    )


def sealed_model(answer: Answer, codec: SiteCodec, study: Study, round_index: int) -> SealedModel | None:
    if answer.theta_personal is None:
        return None
    blob = codec.seal(answer.theta_personal, study=study.name, round_index=round_index, sender=answer.site)
    return SealedModel(sender=answer.site, round_index=round_index, blob=blob)


def _encrypted(update: Vector, answer: Answer, codec: Codec, study: Study, round_index: int) -> bytes:
    score, top = answer.similarity_score, study.max_score
    match study.scores:
        case "open":
            return codec.encrypt(update, study=study.name, round_index=round_index, sender=answer.site)
        case "hidden":
            return codec.encrypt_weighted(
                update, score=score, max_score=top, study=study.name, round_index=round_index, sender=answer.site
            )

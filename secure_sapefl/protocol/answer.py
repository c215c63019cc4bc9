"""From a site's own result to the message that leaves it. Needs no torch, so that a process that only encrypts starts
in a moment.
"""

from dataclasses import dataclass

from secure_sapefl.protocol.codec import Codec, Vector
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
    update = sealed = None
    if answer.update is not None:
        update = _encrypted(answer.update, answer, codec, study, round_index)
    if answer.theta_personal is not None:
        blob = codec.seal(answer.theta_personal, study=study.name, round_index=round_index, sender=answer.site)
        sealed = SealedModel(sender=answer.site, round_index=round_index, blob=blob)
    return RoundUpload(
        site=answer.site,
        round_index=round_index,
        similarity_score=answer.similarity_score if study.scores == "open" else 0.0,
        update=update,
        theta_personal=sealed,
    )


def _encrypted(update: Vector, answer: Answer, codec: Codec, study: Study, round_index: int) -> bytes:
    score, top = answer.similarity_score, study.max_score
    match study.scores:
        case "open":
            return codec.encrypt(update, study=study.name, round_index=round_index, sender=answer.site)
        case "hidden":
            return codec.encrypt_weighted(
                update, score=score, max_score=top, study=study.name, round_index=round_index, sender=answer.site
            )

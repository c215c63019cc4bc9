"""What is wrong with an invitation although the coordinator signed it: it is not what the study's own seed draws."""

from collections.abc import Iterable

from secure_sapefl.plain_text import sentence
from secure_sapefl.protocol.messages import Invitation, SiteId
from secure_sapefl.study.round_terms import RoundTerms


def not_as_drawn(terms: RoundTerms, site: SiteId, invitation: Invitation) -> str | None:
    """For a round of the study: the site must be of its cohort, and its peers those drawn for it."""
    study, index, place = terms.study, invitation.round_index, terms.file.index(site)
    if index >= terms.file.rounds or place not in study.cohort(index):
        return f"not drawn for round {index} by the study's own seed."
    return _wrong_peers(study.peers_of(place, index), terms, invitation)


def late_not_as_drawn(terms: RoundTerms, site: SiteId, invitation: Invitation) -> str | None:
    """For a round of the site's own after the last one."""
    if invitation.round_index != terms.file.rounds:
        return f"round {invitation.round_index} is not the one after the study's last."
    drawn = terms.study.late_peers_of(terms.file.index(site), invitation.round_index)
    return _wrong_peers(drawn, terms, invitation)


def _wrong_peers(drawn: Iterable[int], terms: RoundTerms, invitation: Invitation) -> str | None:
    """A drawn peer may be missing; nobody may take its place."""
    may = {terms.file.sites[place] for place in drawn}
    named, sent = set(invitation.peers), {model.sender for model in invitation.models}
    if strangers := sorted((named | sent) - may):
        return f"peers that the study's seed did not draw for this site: {sentence(', '.join(strangers), 100)}."
    if not sent <= named or (invitation.round_index > 0 and sent != named):
        return "the invitation's peers and the models that came with it are not of the same sites."
    return None

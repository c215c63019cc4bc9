"""Which claims this site has signed as a member of a committee: one a round, in its ledger before it signs."""

from collections.abc import Iterable

from sapefl_crypto.joint.member import signed_another
from sapefl_crypto.joint.occasion import JointRound
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.ledger.study import LedgerWriter


class SignedClaims:
    """A `ClaimLedger`. ``before`` are the ledger's events, of which those of this ``study`` (a digest) count."""

    def __init__(self, ledger: LedgerWriter, study: str, before: Iterable[SiteEvent] = ()) -> None:
        self._ledger, self._study = ledger, study
        signed = (event for event in before if event.kind == "signed" and event.study == study)
        self._digests = {(event.round_index, event.message): event.digest for event in signed}

    def enter(self, about: JointRound, digest: bytes) -> None:
        """All attempts at a round share one entry: of two opened sums of the same updates, the difference is open."""
        key, name = (about.round_index, _message(about)), digest.hex()
        if key not in self._digests:
            note = f"attempt {about.attempt}; whoever shows another claim of this round is refused"
            self._ledger.append(
                SiteEvent(
                    kind="signed",
                    study=self._study,
                    round_index=about.round_index,
                    message=_message(about),
                    digest=name,
                    note=note,
                )
            )
            self._digests[key] = name
        if self._digests[key] != name:
            raise signed_another(about)


def _message(about: JointRound) -> str:
    return f"claim, {about.purpose}"

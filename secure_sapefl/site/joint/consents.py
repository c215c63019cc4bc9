"""The nonce of a site's consent, and those of all other sites once everybody has shown his: on disk for good."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from secure_sapefl.protocol.joint.consents import (
    Call,
    Commitment,
    Roster,
    Said,
    Settled,
    check_commitment,
    check_opening,
    commitment,
    digest_of,
    everybody,
    opening,
)
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.storage.files import write_private


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteNonces:
    """``known`` fills when all nonces are here; `JointTerms` draws committees from it.

    ``folder`` is the site's own for this study, ``study`` the name under which it signs.
    """

    identity: SiteIdentity
    study: str
    roster: Roster
    own: bytes
    folder: Path
    known: dict[SiteId, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self._nonces_path.exists():
            saved: Mapping[str, str] = json.loads(self._nonces_path.read_bytes())
            self.known.update({name: bytes.fromhex(nonce) for name, nonce in saved.items()})

    def answer(self, call: Call) -> Said:
        """`FrameRejected` for a call that is not whole, or contradicts what this site was shown before."""
        if not call.commitments:
            return commitment(self.identity, self.study, self.own)
        commitments = self._checked(call)
        if not call.openings:
            return opening(self.identity, self.study, self.own, self._pinned(commitments))
        self._settle(call, commitments)
        return Settled(site=self.identity.public.name)

    def _checked(self, call: Call) -> dict[SiteId, Commitment]:
        if not everybody(call.commitments, self.roster):
            raise FrameRejected("The commitments are not those of all sites, each once; no nonce is shown.")
        for one in call.commitments:
            check_commitment(one, self.study, self.roster)
        commitments = {one.site: one for one in call.commitments}
        if commitments[self.identity.public.name].digest != commitment(self.identity, self.study, self.own).digest:
            raise FrameRejected("This site committed to another nonce than the server says; no nonce is shown.")
        return commitments

    def _pinned(self, commitments: Mapping[SiteId, Commitment]) -> bytes:
        """Once, and on disk before the nonce is shown: to another list this site does not answer."""
        seen = digest_of(commitments.values())
        if not self._seen_path.exists():
            write_private(self._seen_path, seen)
        if self._seen_path.read_bytes() != seen:
            raise FrameRejected("The server showed other commitments before; no nonce is shown.")
        return seen

    def _settle(self, call: Call, commitments: Mapping[SiteId, Commitment]) -> None:
        self._pinned(commitments)
        if not everybody(call.openings, self.roster):
            raise FrameRejected("The nonces are not those of all sites, each once; no committee is drawn.")
        for one in call.openings:
            check_opening(one, self.study, self.roster, commitments)
        nonces = {one.site: one.nonce for one in call.openings}
        write_private(self._nonces_path, json.dumps({name: nonce.hex() for name, nonce in nonces.items()}).encode())
        self.known.update(nonces)

    @property
    def _seen_path(self) -> Path:
        return self.folder / "commitments.sha256"

    @property
    def _nonces_path(self) -> Path:
        return self.folder / "nonces.json"

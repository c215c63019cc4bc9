"""The server's side of fixing the nonces: it gathers commitments, then nonces, and shows each whole list to all."""

import json
import logging
from pathlib import Path
from typing import Any

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.joint.consents import (
    Call,
    Commitment,
    Opening,
    Said,
    Settled,
    check_commitment,
    check_opening,
)
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.storage.files import write_private
from secure_sapefl.study.file import StudyFile
from secure_sapefl.transport.heads.consents import call_head, read_call

_log = logging.getLogger(__name__)


class Consents:
    """``nonces`` fills when the last site has shown its own; the study begins then, and not before."""

    def __init__(self, path: Path, file: StudyFile) -> None:
        self._path, self._file = path, file
        self.nonces: dict[SiteId, bytes] = {}
        self._commitments: dict[SiteId, Commitment] = {}
        self._openings: dict[SiteId, Opening] = {}
        self._settled: set[SiteId] = set()
        if path.exists():
            self._restore(json.loads(path.read_bytes()))

    @property
    def waiting(self) -> list[SiteId]:
        """Without whom the study does not begin."""
        said = self._openings if self._all_committed else self._commitments
        return [site for site in self._file.sites if site not in said]

    def call_for(self, site: SiteId) -> Call | None:
        if not self._all_committed:
            return None if site in self._commitments else Call()
        commitments = tuple(self._commitments.values())
        if not self.nonces:
            return None if site in self._openings else Call(commitments=commitments)
        return None if site in self._settled else Call(commitments=commitments, openings=tuple(self._openings.values()))

    def hear(self, said: Said) -> None:
        try:
            self._take(said)
        except FrameRejected as error:
            _log.warning(str(error), extra={"site": said.site})

    def _take(self, said: Said) -> None:
        """The first word counts."""
        study, roster = self._file.wire_name, self._file.keys_by_name
        match said:
            case Commitment() if said.site not in self._commitments:
                check_commitment(said, study, roster)
                self._commitments[said.site] = said
            case Opening() if self._all_committed and said.site not in self._openings:
                check_opening(said, study, roster, self._commitments)
                self._openings[said.site] = said
            case Settled():
                self._settled.add(said.site)
        self._save()
        self._fill()

    @property
    def _all_committed(self) -> bool:
        return len(self._commitments) == len(self._file.sites)

    def _fill(self) -> None:
        if len(self._openings) == len(self._file.sites):
            self.nonces.update({site: one.nonce for site, one in self._openings.items()})

    def _save(self) -> None:
        call = Call(commitments=tuple(self._commitments.values()), openings=tuple(self._openings.values()))
        write_private(self._path, json.dumps(call_head(call)).encode())

    def _restore(self, saved: dict[str, Any]) -> None:
        call = read_call(saved)
        self._commitments = {one.site: one for one in call.commitments}
        self._openings = {one.site: one for one in call.openings}
        self._fill()

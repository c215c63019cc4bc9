"""Where a site keeps what it holds between rounds of a study: its state, and its last upload as it left."""

from dataclasses import dataclass
from pathlib import Path

from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.storage.files import write_private
from secure_sapefl.storage.parts import from_bytes, to_bytes
from secure_sapefl.transport.heads import upload_of, upload_parts


@dataclass(frozen=True, slots=True)
class StateFiles:
    folder: Path
    site: str

    @property
    def state_path(self) -> Path:
        return self.folder / "state.npz"

    @property
    def _upload_path(self) -> Path:
        return self.folder / "upload"

    def keep_upload(self, upload: RoundUpload) -> None:
        write_private(self._upload_path, to_bytes(upload_parts(upload)))

    def upload(self) -> RoundUpload | None:
        """The last upload that left, or was about to."""
        if not self._upload_path.exists():
            return None
        return upload_of(from_bytes(self._upload_path.read_bytes()), self.site)

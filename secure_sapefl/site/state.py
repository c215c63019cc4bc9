"""What a site holds between rounds of a study: both models and where it stands. Never leaves the site."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.errors import BadInput, HomeRejected
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.storage.files import write_private
from secure_sapefl.storage.parts import from_bytes, to_bytes
from secure_sapefl.transport.heads.rounds import upload_of, upload_parts

_ABOUT: Final = "about"
_GLOBAL: Final = "theta_global"
_OWN: Final = "state/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """``own`` is the method's state of this one site, each tensor with a first axis of one. ``absorbed`` is the last
    round whose aggregate is in ``theta_global``, ``answered`` the last one this site sent something for; -1 for none.
    ``over`` says that the study has ended, and that the site has all of it.
    """

    study: str  # digest
    site: str
    absorbed: int
    answered: int
    theta_global: Tensor
    own: Mapping[str, Tensor]
    over: bool = False

    @property
    def untrained(self) -> bool:
        """Whether the method keeps a model at the site, and no round of this site's has trained it yet."""
        return bool(self.own) and self.answered < 0 and not self.over

    def save(self, path: Path) -> None:
        """Whole or not at all; readable by the site alone."""
        about = {name: getattr(self, name) for name in ("study", "site", "absorbed", "answered", "over")}
        arrays: dict[str, Any] = {_OWN + name: tensor.cpu().numpy() for name, tensor in self.own.items()}
        arrays |= {_ABOUT: np.array(json.dumps(about)), _GLOBAL: self.theta_global.cpu().numpy()}
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        write_private(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path, *, study: str, site: str) -> "SiteState":
        """The state of this ``site`` in this ``study`` (a digest), and of no other."""
        try:
            state = _read(read_npz(path))
        except (BadInput, KeyError, TypeError, ValueError) as error:
            raise HomeRejected(f"The site's state {path} is damaged ({error}). Restore it from a backup.") from None
        if (state.study, state.site) != (study, site):
            raise HomeRejected(
                f"{path} is the state of {state.site!r} in study {state.study[:16]}, not of {site!r} in {study[:16]}."
            )
        return state


def _read(arrays: Arrays) -> SiteState:
    about = json.loads(str(arrays[_ABOUT]))
    own = {name.removeprefix(_OWN): torch.from_numpy(v) for name, v in arrays.values.items() if name.startswith(_OWN)}
    return SiteState(
        study=str(about["study"]),
        site=str(about["site"]),
        absorbed=int(about["absorbed"]),
        answered=int(about["answered"]),
        theta_global=torch.from_numpy(arrays[_GLOBAL]),
        own=own,
        over=bool(about["over"]),
    )


def judged_path(folder: Path) -> Path:
    """Where a site's folder of a study keeps how good its models were."""
    return folder / "judged.jsonl"


@dataclass(frozen=True, slots=True)
class StateFiles:
    """Where a site keeps, between rounds of a study, its state and its last upload as it left."""

    folder: Path
    site: str

    @property
    def state_path(self) -> Path:
        return self.folder / "state.npz"

    @property
    def judged_path(self) -> Path:
        return judged_path(self.folder)

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

"""What a site sends in the open round before it is encrypted: kept at the site until the round is over.

A frame belongs to one attempt at a round. If another attempt begins, the very same update gets another key; nothing is
trained again, and nothing is paid again. When the round is over the file goes, so that a stolen disk does not have it.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from secure_sapefl.data.arrays import read_npz
from secure_sapefl.errors import BadInput, HomeRejected
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.storage.files import remove_unfinished, write_private

ANSWER: Final = "answer.npz"
"""In the folder of a study's rounds."""
_VECTORS: Final = ("update", "theta_personal")


@dataclass(frozen=True, slots=True)
class AnswerFile:
    path: Path
    site: str

    def keep(self, round_index: int, answer: Answer) -> None:
        numbers: dict[str, Any] = {"round": np.array(round_index), "score": np.array(answer.similarity_score)}
        numbers |= {name: value for name in _VECTORS if (value := getattr(answer, name)) is not None}
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **numbers)
        write_private(self.path, buffer.getvalue())

    def read(self, round_index: int) -> Answer | None:
        """Of this round; None where there is none."""
        if not self.path.exists():
            return None
        try:
            values = read_npz(self.path).values
            if int(values["round"]) != round_index:
                return None
            vectors = {name: values.get(name) for name in _VECTORS}
            return Answer(site=self.site, similarity_score=float(values["score"]), **vectors)
        except (BadInput, KeyError, TypeError, ValueError) as error:
            raise HomeRejected(f"{self.path} is damaged ({error}). Remove it; the site sits this round out.") from None

    def forget(self) -> None:
        """With what a killed process left of it; the site's ledger keeps any other process out."""
        self.path.unlink(missing_ok=True)
        remove_unfinished(self.path)

"""The rows a site began a study with. It goes on with the same ones, or its owner says that others are meant.

What is kept is a digest, in the site's own folder and nowhere else: whoever knew all rows but one could try out that
one against it.
"""

import hashlib
from pathlib import Path

from secure_sapefl.data.federation import ClientData
from secure_sapefl.errors import HomeRejected
from secure_sapefl.storage.files import write_private


def have_changed(path: Path, rows: ClientData) -> bool:
    """Whether ``path`` holds the digest of other rows. A study that begins now has none yet."""
    return path.exists() and path.read_text(encoding="ascii", errors="replace").strip() != digest_of(rows)


def require_same(path: Path, rows: ClientData, data: Path) -> None:
    """Refuse rows that are not those the study was begun with here."""
    if have_changed(path, rows):
        raise HomeRejected(
            f"The records in {data} are not those this site began the study with. Put the old file back, or, if the "
            "change is meant, start with --data-changed: it is entered in the site's ledger, and rounds from now on "
            "use the new records."
        )


def keep(path: Path, rows: ClientData) -> None:
    write_private(path, digest_of(rows).encode())


def digest_of(rows: ClientData) -> str:
    """Of training and test rows as the model sees them, in their order."""
    whole = hashlib.sha256()
    for array in (rows.train.X, rows.train.y, rows.test.X, rows.test.y):
        whole.update(f"{array.dtype} {array.shape} ".encode() + array.tobytes())
    return whole.hexdigest()

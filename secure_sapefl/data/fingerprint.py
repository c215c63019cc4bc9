"""Two digests of a federation: of its rows, whoever holds them, and of who holds which, to train or to test with."""

import hashlib
from collections.abc import Iterable

from secure_sapefl.data.federation import Federation, Rows

_ROW_BYTES = 16


def fingerprint(federation: Federation) -> tuple[str, str]:
    """Of the data and of the partition. Rows are taken as models see them, after preparation."""
    held = [(client.name, _each(client.train), _each(client.test)) for client in federation.clients]
    rows = sorted(row for _, train, test in held for row in (*train, *test))
    meaning = (str(federation.shape), *federation.class_names)
    parts = (part for name, train, test in held for part in (name.encode(), b"".join(train), b"".join(test)))
    return _digest([*(word.encode() for word in meaning), b"".join(rows)]), _digest(parts)


def _each(rows: Rows) -> list[bytes]:
    """A digest a row, of its values and its label."""
    return [
        hashlib.blake2b(x.tobytes() + y.tobytes(), digest_size=_ROW_BYTES).digest()
        for x, y in zip(rows.X, rows.y, strict=True)
    ]


def _digest(parts: Iterable[bytes]) -> str:
    """Of the parts and of where one ends and the next begins."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()[:32]

"""A dataset as its publisher's server would have given it."""

import io
import zipfile
from collections.abc import Callable

import pytest

from secure_sapefl.data import DATASETS
from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.data.store import fetch


@pytest.fixture
def fetched() -> Callable[[str], Arrays]:
    def get(name: str) -> Arrays:
        spec = DATASETS[name]
        return read_npz(fetch(spec, spec.origin))

    return get


@pytest.fixture
def zipped() -> Callable[[dict[str, bytes]], bytes]:
    def pack(files: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return buffer.getvalue()

    return pack

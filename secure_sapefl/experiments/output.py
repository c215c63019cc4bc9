"""Files of an experiment: written whole, in a folder made on demand, with a sentence where the disk says no."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from secure_sapefl.storage.files import write_whole, writing


def save(path: Path, content: bytes) -> None:
    with writing_into(path.parent):
        write_whole(path, content)


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    with writing(folder, "Finished cells are kept: make room and give the same command again."):
        folder.mkdir(parents=True, exist_ok=True)
        yield

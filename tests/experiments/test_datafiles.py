"""A result is named by the content of the files behind it, not by where or when they were written."""

import os
from pathlib import Path

import numpy as np

from secure_sapefl.config import Config
from secure_sapefl.experiments.datafiles import data_digest, own_sources


def digest(file: Path, value: float = 0.0, **options: str) -> str | None:
    np.savez(file, X=np.full((6, 2), value), y=np.arange(6) % 3)
    return data_digest(Config(dataset=str(file), data_options=options))


def test_other_rows_are_another_digest_and_another_name_is_not(tmp_path: Path) -> None:
    first = digest(tmp_path / "mine.npz")
    assert first is not None
    assert digest(tmp_path / "yours.npz") == first
    assert digest(tmp_path / "mine.npz", 1.0) != first


def test_a_file_written_again_with_the_same_content_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    first = digest(file)
    os.utime(file, ns=(1, 1))
    assert data_digest(Config(dataset=str(file))) == first


def test_other_public_ranges_are_another_digest(tmp_path: Path) -> None:
    ranges, digests = tmp_path / "ranges.toml", set()
    for high in (1, 20):
        ranges.write_text(f"0 = [0, {high}]\n1 = [0, 1]\n")
        digests.add(digest(tmp_path / "mine.npz", ranges=str(ranges)))
    assert len(digests | {digest(tmp_path / "mine.npz")}) == 3


def test_an_unpacked_folder_counts_every_file_in_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    config = Config(dataset=str(tmp_path))
    (tmp_path / "deep" / "a.txt").write_text("1")
    first = data_digest(config)
    (tmp_path / "deep" / "a.txt").write_text("22")
    assert first != data_digest(config)


def test_generated_data_is_described_by_its_configuration_alone() -> None:
    assert data_digest(Config(dataset="synthetic")) is None


def test_an_edited_task_is_another_result(tmp_path: Path) -> None:
    """Or `compare` would show finished cells of the old loss under the new one's name."""
    file = tmp_path / "mine.py"
    text = "from secure_sapefl.tasks.builtin import REGRESSION as TASK\n"
    found = []
    for more in ("", "# another text\n"):
        file.write_text(text + more)
        found.append(own_sources(Config(task=str(file)))["sources"]["task"])
    assert found[0] != found[1]
    assert own_sources(Config(task="regression")) == {}

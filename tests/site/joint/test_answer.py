"""The update of the open round stays at the site until the round is over, and no longer."""

from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.errors import HomeRejected
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.site.joint.answer import AnswerFile

UPDATE = np.arange(5, dtype=np.float32)


def answer(model: np.ndarray | None = None) -> Answer:
    return Answer(site="a", similarity_score=0.25, update=UPDATE, theta_personal=model)


@pytest.mark.parametrize("model", [None, UPDATE + 1])
def test_it_comes_back_as_it_was_for_its_own_round(tmp_path: Path, model: np.ndarray | None) -> None:
    file = AnswerFile(tmp_path / "answer.npz", "a")
    assert file.read(3) is None
    file.keep(3, answer(model))
    found = file.read(3)
    assert found is not None
    assert (found.site, found.similarity_score) == ("a", 0.25)
    np.testing.assert_array_equal(found.update, UPDATE)
    assert (found.theta_personal is None) == (model is None)
    assert file.read(4) is None
    assert (tmp_path / "answer.npz").stat().st_mode & 0o077 == 0


def test_it_goes_with_its_round(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "answer.npz", "a")
    file.keep(3, answer())
    (tmp_path / ".answer.npz.0123").write_bytes(b"what a process that was killed had written of it")
    file.forget()
    file.forget()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "answer.npz").write_bytes(b"PK")
    with pytest.raises(HomeRejected, match=r"answer\.npz is damaged"):
        AnswerFile(tmp_path / "answer.npz", "a").read(0)

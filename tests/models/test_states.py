"""Weights from a file: what fits is taken by name, what does not is refused, and nothing in a file is executed."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from secure_sapefl.errors import BadInput
from secure_sapefl.models.stacked import build_model
from secure_sapefl.models.states import read_state, started_from

MODEL = build_model((4,), 3, "linear")
THETA = MODEL.initial(np.random.default_rng(0))


def written(path: Path, tensors: dict[str, torch.Tensor]) -> Path:
    (save_file if path.suffix == ".safetensors" else torch.save)(tensors, path)
    return path


@pytest.mark.parametrize("name", ["weights.pt", "weights.safetensors"])
def test_named_weights_replace_and_the_others_begin_anew(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, {"0.bias": torch.tensor([1.0, 2, 3])})
    theta, taken = started_from(MODEL, THETA, read_state(path))
    assert theta.tolist() == [*THETA[:12].tolist(), 1, 2, 3]
    assert taken == f"1 of 2 tensors from {name}; begun anew: 0.weight"


def test_all_of_them(tmp_path: Path) -> None:
    state = {"0.weight": torch.ones(3, 4), "0.bias": torch.zeros(3)}
    theta, taken = started_from(MODEL, THETA, read_state(written(tmp_path / "w.pt", state)))
    assert theta.tolist() == [1.0] * 12 + [0.0] * 3
    assert taken == "2 of 2 tensors from w.pt"


@pytest.mark.parametrize(
    ("tensors", "sentence"),
    [
        ({"fc.weight": torch.ones(3, 4)}, "has 'fc.weight', the model has no such part. It has: 0.weight, 0.bias"),
        ({"0.weight": torch.ones(9, 4)}, r"shape \(9, 4\).*\(3, 4\) in the model. Leave it out"),
        ({"0.bias": torch.tensor([1, torch.nan, 3])}, "'0.bias' in .* holds NaN"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, tensors: dict[str, torch.Tensor], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        started_from(MODEL, THETA, read_state(written(tmp_path / "w.pt", tensors)))


def test_files_that_are_no_state(tmp_path: Path) -> None:
    for name in ("bad.pt", "bad.safetensors"):
        for content in (b"nothing of the kind", b"junk", b""):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(BadInput, match="is no state_dict"):
                read_state(tmp_path / name)
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(BadInput, match="something else than named tensors"):
        read_state(tmp_path / "list.pt")
    with pytest.raises(BadInput, match="cannot read"):
        read_state(tmp_path / "absent.pt")


class Touches:
    def __reduce__(self):
        return (Path.touch, (Path("executed"),))


def test_nothing_in_a_file_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.pt").write_bytes(pickle.dumps(Touches(), protocol=2))
    torch.save({"0.bias": Touches()}, tmp_path / "zipped.pt")
    for name in ("evil.pt", "zipped.pt"):
        with pytest.raises(BadInput, match="is no state_dict"):
            read_state(Path(name))
    assert not Path("executed").exists()

"""Archives that may be damaged, incomplete or hostile are read as arrays or refused by name."""

import numpy as np
import pytest

from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.errors import BadInput

N = 40
GOOD = {"X": np.arange(2.0 * N).reshape(N, 2), "y": np.arange(N) % 2}


def save(path, **arrays):
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_a_pickle_inside_is_never_run(tmp_path):
    ran = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return (ran.write_text, ("x",))

    path = save(tmp_path / "mine.npz", X=np.array([Trap()] * N, dtype=object), y=GOOD["y"])
    ran.unlink(missing_ok=True)
    with pytest.raises(BadInput, match="could run code"):
        read_npz(path)
    assert not ran.exists()


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.95])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = save(tmp_path / "mine.npz", **GOOD)
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(BadInput, match=r"mine.npz .*again"):
        read_npz(path)


def test_flipped_bytes_are_noticed(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, **GOOD)
    content = bytearray(path.read_bytes())
    content[120:140] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"damaged|not a readable"):
        read_npz(path)


def test_labels_are_indices_into_their_names():
    arrays = Arrays("d.npz", {"y": np.array([1, 0], np.uint8), "class_names": np.array(["well", "ill"])})
    y, names = arrays.labels(2)
    assert (y.tolist(), y.dtype, names) == ([1, 0], np.int64, ("well", "ill"))
    with pytest.raises(BadInput, match=r"d.npz: array 'y' has shape \(2,\), expected one value for each of 3 rows"):
        arrays.labels(3)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([0, 2]), r"runs from 0 to 2, expected 0\.\.1"),
        (np.array([-1, 0]), "runs from -1 to 0"),
        (np.array([0.0, 1.0]), "holds float64 values"),
    ],
)
def test_integers_outside_their_range_are_refused(y, message):
    with pytest.raises(BadInput, match=message):
        Arrays("d.npz", {"y": y}).integers("y", 2, 2)


def test_a_missing_array_is_named_beside_those_there_are():
    arrays = Arrays("d.npz", {"X": np.zeros(2)})
    assert "X" in arrays
    with pytest.raises(BadInput, match=r"array 'y' is missing \(the file has: X\)"):
        _ = arrays["y"]
    with pytest.raises(BadInput, match="one-dimensional array of strings"):
        arrays.strings("X")


def test_only_the_arrays_that_are_asked_for_are_read(tmp_path):
    path = save(tmp_path / "mine.npz", X=np.zeros(2), objects=np.array([{}], dtype=object))
    assert list(read_npz(path, only=("X",)).values) == ["X"]
    with pytest.raises(BadInput, match="'objects' holds Python objects"):
        read_npz(path)

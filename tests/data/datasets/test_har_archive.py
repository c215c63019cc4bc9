"""The official folder, and which of its windows overlap."""

import numpy as np
import pytest

from secure_sapefl.data.arrays import read_npz
from secure_sapefl.data.datasets.har_archive import read_folder, segments
from secure_sapefl.errors import BadInput


def test_segments_are_recomputed_from_the_windows(real_data):
    arrays = read_npz(real_data("uci_har_inertial.npz") / "uci_har_inertial.npz")
    np.testing.assert_array_equal(segments(arrays["X"], arrays["y"], arrays["subject"]), arrays["segment"])


def test_a_segment_ends_where_windows_stop_overlapping_or_label_or_person_changes():
    signal = np.arange(24, dtype=np.float32)[:, None]
    windows = np.stack([signal[at : at + 4] for at in (0, 2, 4, 6, 8, 14)])  # the last leaves a gap
    y = np.array([1, 1, 1, 2, 2, 2], np.uint8)
    subject = np.array([1, 1, 1, 1, 3, 3], np.uint8)
    assert segments(windows, y, subject).tolist() == [0, 0, 0, 1, 2, 3]


def test_a_folder_that_is_not_whole_or_not_numbers_is_refused(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(BadInput, match=r"y_train.txt is missing. Unpack"):
        read_folder(tmp_path)
    (tmp_path / "train" / "y_train.txt").write_text("walking\n")
    with pytest.raises(BadInput, match=r"y_train\.txt is not a table of numbers"):
        read_folder(tmp_path)

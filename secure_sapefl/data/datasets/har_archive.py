"""The official folder "UCI HAR Dataset": text files of windows, labels and subjects, unpacked or inside its zip."""

import zipfile
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.spec import Layout
from secure_sapefl.errors import BadInput

FOLDER: Final = "UCI HAR Dataset"
PARTS: Final = ("train", "test")
CHANNELS: Final = tuple(f"{signal}_{axis}" for signal in ("body_acc", "body_gyro", "total_acc") for axis in "xyz")
CLASSES: Final = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")

Folder = Path | zipfile.Path


def read_folder(root: Folder) -> Layout:
    """The arrays of the stored dataset, with the official 561 features beside the raw windows."""
    labels = [_column(root / part / f"y_{part}.txt") for part in PARTS]
    subject = np.concatenate([_column(root / part / f"subject_{part}.txt") for part in PARTS]).astype(np.uint8)
    y = (np.concatenate(labels) - 1).astype(np.uint8)
    windows = np.concatenate([_windows(root, part) for part in PARTS])
    return {
        "X": windows,
        "features": np.concatenate([_matrix(root / part / f"X_{part}.txt") for part in PARTS]),
        "y": y,
        "subject": subject,
        "split": np.repeat(np.array([0, 1], np.uint8), [len(part) for part in labels]),
        "segment": segments(windows, y, subject),
        "class_names": np.array(CLASSES),
        "channel_names": np.array(CHANNELS),
        "split_names": np.array(PARTS),
    }


def segments(windows: NDArray[np.float32], y: NDArray[np.uint8], subject: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Number the runs of windows that overlap their predecessor by exactly half."""
    half = windows.shape[1] // 2
    overlaps = (windows[1:, :half] == windows[:-1, half:]).all(axis=(1, 2))
    continues = overlaps & (y[1:] == y[:-1]) & (subject[1:] == subject[:-1])
    return np.concatenate([[0], np.cumsum(~continues)]).astype(np.int16)


def _windows(root: Folder, part: str) -> NDArray[np.float32]:
    signals = root / part / "Inertial Signals"
    return np.stack([_matrix(signals / f"{channel}_{part}.txt") for channel in CHANNELS], axis=2)


def _column(path: Folder) -> NDArray[np.int64]:
    return _matrix(path)[:, 0].astype(np.int64)


def _matrix(path: Folder) -> NDArray[np.float32]:
    try:
        with path.open("r", encoding="ascii") as file:
            return np.loadtxt(file, dtype=np.float32, ndmin=2)
    except FileNotFoundError:
        raise BadInput(f"{FOLDER}: the file {path.name} is missing. Unpack the official archive completely.") from None
    except ValueError as error:
        raise BadInput(f"{FOLDER}: {path.name} is not a table of numbers ({error}). Unpack it again.") from error

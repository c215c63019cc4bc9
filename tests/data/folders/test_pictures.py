"""One image file as bytes: sizes, bits, windows, and files that are none."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from secure_sapefl.data.folders.pictures import Size, read_picture, size_of
from secure_sapefl.errors import BadInput
from tests.data.folders.conftest import save_dicom

GREY = Size(4, 4, 1)


def test_a_png_is_read_as_it_is_or_scaled(tmp_path: Path) -> None:
    pixels = np.arange(16, dtype=np.uint8).reshape(4, 4)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert np.array_equal(read_picture(tmp_path / "a.png", GREY), pixels)
    assert read_picture(tmp_path / "a.png", Size(8, 6, 3)).shape == (8, 6, 3)
    assert size_of(tmp_path / "a.png") == GREY


def test_sixteen_bits_keep_their_range(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 4), 65535 // 2, np.uint16)).save(tmp_path / "a.png")
    assert read_picture(tmp_path / "a.png", GREY)[0, 0] in (127, 128)


def test_dicom_by_its_bits_by_its_window_and_the_other_way_round(tmp_path: Path) -> None:
    pixels = np.full((4, 4), 4095)
    pixels[0] = 0
    plain = read_picture(save_dicom(tmp_path / "a.dcm", pixels), GREY)
    assert (plain[0, 0], plain[1, 1]) == (0, 255)
    window = {"WindowCenter": 2048, "WindowWidth": 8192}
    narrow = read_picture(save_dicom(tmp_path / "b.dcm", pixels, **window), GREY)
    assert (narrow[0, 0], narrow[1, 1]) == (64, 191)
    white = {"PhotometricInterpretation": "MONOCHROME1"}
    assert read_picture(save_dicom(tmp_path / "c.dcm", pixels, **white), GREY)[0, 0] == 255
    units = {"RescaleSlope": 1, "RescaleIntercept": -1024, "WindowCenter": 40, "WindowWidth": 400}
    assert read_picture(save_dicom(tmp_path / "d.dcm", pixels * 0 + 1064, **units), GREY)[0, 0] in (127, 128)


@pytest.mark.parametrize("name", ["a.png", "a.dcm"])
def test_what_is_no_image_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"nothing of the kind")
    with pytest.raises(BadInput, match=rf"{name} cannot be read as"):
        read_picture(tmp_path / name, GREY)

"""Small folders of images, made here."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def save_dicom(path: Path, pixels: np.ndarray, **more: object) -> Path:
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = SecondaryCaptureImageStorage, generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = Dataset()
    data.file_meta, data.SOPClassUID, data.SOPInstanceUID = meta, SecondaryCaptureImageStorage, generate_uid()
    data.Rows, data.Columns = pixels.shape
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation = 16, 12, 11, 0
    data.PixelData = pixels.astype(np.uint16).tobytes()
    for name, value in more.items():
        setattr(data, name, value)
    data.save_as(path, enforce_file_format=True)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """``folder(count)``: bright images are ill, dark ones are not; every third is DICOM."""

    def build(count: int = 24, name: str = "scans", sites: tuple[str, ...] = ("a", "b")) -> Path:
        made, rng = tmp_path / name, np.random.default_rng(0)
        made.mkdir()
        lines = ["file,diagnosis,clinic,patient"]
        for k in range(count):
            ill = k % 4 < 2
            pixels = rng.integers(150, 250, (8, 8)) if ill else rng.integers(0, 100, (8, 8))
            if k % 3:
                Image.fromarray(pixels.astype(np.uint8)).save(made / f"{k}.png")
            else:
                save_dicom(made / f"{k}.dcm", pixels * 16)
            suffix = "png" if k % 3 else "dcm"
            lines.append(f"{k}.{suffix},{'ill' if ill else 'well'},{sites[k % len(sites)]},p{k // 2}")
        (made / "labels.csv").write_text("\n".join(lines) + "\n")
        return made

    return build

"""One image file as bytes of the size a study has: PNG (and what else Pillow reads) or DICOM.

A DICOM image is put on 0 to 255 by its own window where it has one, else by the range its stored bits allow: both are
of the device, and the same whatever else a folder holds. MONOCHROME1, in which 0 is white, is turned round.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from PIL.Image import Image
    from pydicom import Dataset

Bytes = NDArray[np.uint8]
PLAIN: Final = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
DICOM: Final = (".dcm", ".dicom")
SUFFIXES: Final = (*PLAIN, *DICOM)
_LARGEST: Final = 64 << 20  # pixels of a file; more is no radiograph but an attempt to fill the memory
_INSTALL: Final = "Install what reads images: pip install 'secure-sapefl[images]'."


@dataclass(frozen=True, slots=True)
class Size:
    height: int
    width: int
    channels: int  # 1 or 3


def read_picture(path: Path, size: Size) -> Bytes:
    """[height, width], or with 3 channels last; scaled to the size asked for."""
    image = _opened(path)
    image = image.convert("L" if size.channels == 1 else "RGB")
    if image.size != (size.width, size.height):
        from PIL.Image import Resampling

        image = image.resize((size.width, size.height), Resampling.BILINEAR)
    return np.asarray(image, dtype=np.uint8)


def size_of(path: Path) -> Size:
    image = _opened(path)
    return Size(image.height, image.width, 1 if image.mode in ("L", "1", "I", "I;16", "F", "LA") else 3)


def _opened(path: Path) -> "Image":
    try:
        from PIL import Image
    except ImportError:
        raise BadInput(f"{path.name}: Pillow is missing. {_INSTALL}") from None
    if path.suffix.lower() in DICOM:
        return Image.fromarray(_dicom(path))
    unreadable = f"{path.name} cannot be read as an image. Convert it to PNG, or take it out of the table."
    try:
        image = Image.open(path)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise BadInput(unreadable) from None
    _require_bearable(path, image.width, image.height)
    try:
        image.load()
    except (OSError, ValueError, SyntaxError):
        raise BadInput(unreadable) from None
    return _eight_bits(image)


def _eight_bits(image: "Image") -> "Image":
    """PNG files of 16 bits are of 0 to 65,535; Pillow would cut them off at 255."""
    if not image.mode.startswith("I"):
        return image
    from PIL import Image

    return Image.fromarray((np.asarray(image).astype(np.float64) / 257).round().clip(0, 255).astype(np.uint8))


def _dicom(path: Path) -> Bytes:
    try:
        import pydicom
    except ImportError:
        raise BadInput(f"{path.name}: pydicom is missing. {_INSTALL}") from None
    try:
        data = pydicom.dcmread(path)
        height, width = int(data.Rows), int(data.Columns)
    except Exception as error:
        raise _not_dicom(path, error) from None
    _require_bearable(path, width, height)
    try:
        pixels = data.pixel_array
    except Exception as error:
        raise _not_dicom(path, error) from None
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[-1] != 3):
        raise BadInput(f"{path.name} holds {pixels.shape[0]} frames; give each image a file of its own.")
    return pixels.astype(np.uint8) if pixels.ndim == 3 else _windowed(pixels, data)


def _windowed(pixels: NDArray[Any], data: "Dataset") -> Bytes:
    slope, intercept = float(data.get("RescaleSlope", 1)), float(data.get("RescaleIntercept", 0))
    values = slope * pixels.astype(np.float64) + intercept
    if "WindowCenter" in data and "WindowWidth" in data:
        centre, width = (float(np.ravel(data[name].value)[0]) for name in ("WindowCenter", "WindowWidth"))
        low, high = centre - width / 2, centre + width / 2
    else:
        bits, signed = int(data.BitsStored), int(data.PixelRepresentation)
        ends = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        low, high = sorted(slope * end + intercept for end in ends)
    share = np.clip((values - low) / max(high - low, 1e-12), 0, 1)
    share = 1 - share if data.get("PhotometricInterpretation") == "MONOCHROME1" else share
    return np.rint(255 * share).astype(np.uint8)


def _require_bearable(path: Path, width: int, height: int) -> None:
    """Before the pixels are unpacked."""
    if width * height > _LARGEST:
        raise BadInput(f"{path.name} has {width:,} x {height:,} pixels: too many for an image here.")


def _not_dicom(path: Path, error: Exception) -> BadInput:
    return BadInput(
        f"{path.name} cannot be read as a DICOM image ({type(error).__name__}). Convert it to an uncompressed one, or "
        "take it out of the table."
    )

"""Charts are drawn, but neither laid out nor turned into pixels or paths, where a test looks at something else.

That takes longer than a small run, is the same for all of them, and is what tests/report is for.
"""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

BLANK = {"png": b"\x89PNG\r\n\x1a\n", "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'}


def save_blank(figure: Figure, target: Path | BytesIO, *, format: str, **_: Any) -> None:
    if isinstance(target, Path):
        target.write_bytes(BLANK[format])
    else:
        target.write(BLANK[format])


@pytest.fixture(scope="module")
def unrendered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", save_blank)
        yield

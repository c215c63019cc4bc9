"""The rows that were rebuilt beside the true ones: images as they are, rows of a table as strips of colour."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from secure_sapefl.audit.rebuilding import Rebuilding


def save_picture(found: Sequence[Rebuilding], path: Path) -> None:
    """Two lines for each attempt: true rows above, what was made of them below."""
    widest = max(len(one.rows) for one in found)
    figure = Figure(figsize=(1.6 * widest + 1.2, 3.1 * len(found)), layout="constrained")
    parts = figure.subfigures(len(found), 1, squeeze=False)[:, 0]
    for part, one in zip(parts, found, strict=True):
        part.suptitle(one.what, fontsize=9)
        axes = part.subplots(2, widest, squeeze=False)
        for ax in axes.flat:
            ax.set_axis_off()
        for column, row in enumerate(one.rows):
            _draw(axes[0, column], row.true, row.true, "nearest true row")
            _draw(axes[1, column], row.rebuilt, row.true, f"rebuilt, error {row.error:.2f}")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, format="png", dpi=110, facecolor="white")


def _draw(ax: object, row: Tensor, scale: Tensor, title: str) -> None:
    """Both rows of a pair on the true one's scale."""
    ax.imshow(_pixels(row), vmin=float(scale.min()), vmax=float(scale.max()), cmap="gray")  # type: ignore[attr-defined]
    ax.set_title(title, fontsize=7)  # type: ignore[attr-defined]


def _pixels(row: Tensor) -> NDArray[np.float32]:
    """Channels last, scaled to 0..1 where there are three; a table's row as a block as square as it will be."""
    values = row.numpy()
    if values.ndim == 1:
        width = int(np.ceil(np.sqrt(len(values))))
        padded = np.pad(values, (0, -len(values) % width), constant_values=np.nan)
        return np.asarray(padded.reshape(-1, width))
    if len(values) == 3:
        return np.asarray(np.clip((values - values.min()) / max(np.ptp(values), 1e-6), 0, 1).transpose(1, 2, 0))
    return np.asarray(values[0])

"""What all image datasets share: bytes 0..255 in the file, [-1, 1] channels first for the model.

The official train/test split is not used: as in the paper, all images are divided among the sites, and each
site's share is split 80/20.
"""

from typing import Final

import numpy as np

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.prepare import pixels
from secure_sapefl.data.spec import Options
from secure_sapefl.data.table import Table

PREPARATION: Final = "pixel / 127.5 - 1, the same at every site; official train and test rows pooled"


def image_table(arrays: Arrays, _options: Options) -> Table:
    X = arrays["X"]
    if X.dtype != np.uint8 or X.ndim not in (3, 4):
        raise arrays.bad("X", f"is {X.dtype} of shape {X.shape}, expected bytes [n, h, w] or [n, h, w, c]")
    y, class_names = arrays.labels(len(X))
    source = f"{arrays.name}, {len(X):,} rows"
    return Table(X=X, y=y, class_names=class_names, source=source, prepare=pixels)

"""MNIST: 70,000 handwritten digits, 28x28 grey."""

from secure_sapefl.data.images import PREPARATION, image_table
from secure_sapefl.data.spec import DatasetSpec, Stored
from secure_sapefl.data.torchvision_sets import fetch_idx

SPEC = DatasetSpec(
    name="mnist",
    task="handwritten digits, 28x28 grey",
    classes="10",
    rows=70_000,
    licence="CC BY-SA 3.0 (as commonly stated)",
    source="LeCun, Cortes, Burges, 'The MNIST database of handwritten digits'",
    preparation=PREPARATION,
    origin=Stored(key="mnist", table=image_table, fetch=lambda fetcher: fetch_idx(fetcher, "MNIST")),
)

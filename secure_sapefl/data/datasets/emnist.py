"""EMNIST: handwritten letters and digits, 28x28 grey.

The splits of EMNIST differ in their classes, so a run records which file it read. A file of the "MNIST" split holds
digits only and does not stand for the balanced split the fetch command gets.
"""

from secure_sapefl.data.images import PREPARATION, image_table
from secure_sapefl.data.spec import DatasetSpec, Stored
from secure_sapefl.data.torchvision_sets import fetch_emnist

SPEC = DatasetSpec(
    name="emnist",
    task="handwritten letters and digits (fetched: the balanced split; a local file may hold digits only)",
    classes="47 (balanced) or 10 (digits)",
    rows=131_600,
    licence="US-government work, free to use with citation",
    source="Cohen, Afshar, Tapson, van Schaik, 'EMNIST: an extension of MNIST to handwritten letters', 2017",
    preparation=PREPARATION,
    origin=Stored(key="emnist", table=image_table, fetch=lambda fetcher: fetch_emnist(fetcher, split="balanced")),
)

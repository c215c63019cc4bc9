"""PneumoniaMNIST (MedMNIST v2): 5,856 chest X-rays of children, 28x28 grey."""

from secure_sapefl.data.images import PREPARATION, image_table
from secure_sapefl.data.medmnist import fetch_medmnist
from secure_sapefl.data.spec import DatasetSpec, Stored

MD5 = "28209eda62fecd6e6a2d98b1501bb15f"  # published with MedMNIST v2
CLASSES = ("normal", "pneumonia")

SPEC = DatasetSpec(
    name="pneumonia",
    task="chest X-rays: normal or pneumonia, 28x28 grey",
    classes="2",
    rows=5_856,
    licence="CC BY 4.0",
    source="Yang et al., 'MedMNIST v2', Scientific Data 2023; images: Kermany et al., Cell 2018",
    preparation=PREPARATION,
    origin=Stored(
        key="pneumoniamnist",
        table=image_table,
        fetch=lambda fetcher: fetch_medmnist(fetcher, "pneumoniamnist", MD5, CLASSES),
    ),
)

"""Fashion-MNIST: 70,000 pictures of clothes, 28x28 grey."""

from secure_sapefl.data.images import PREPARATION, image_table
from secure_sapefl.data.spec import DatasetSpec, Stored
from secure_sapefl.data.torchvision_sets import fetch_idx

SPEC = DatasetSpec(
    name="fmnist",
    task="articles of clothing, 28x28 grey",
    classes="10",
    rows=70_000,
    licence="MIT",
    source="Xiao, Rasul, Vollgraf, 'Fashion-MNIST', arXiv:1708.07747",
    preparation=PREPARATION,
    origin=Stored(key="fashion_mnist", table=image_table, fetch=lambda fetcher: fetch_idx(fetcher, "FashionMNIST")),
)

"""CIFAR-10: 60,000 photographs, 32x32 RGB."""

from secure_sapefl.data.images import PREPARATION, image_table
from secure_sapefl.data.spec import DatasetSpec, Stored
from secure_sapefl.data.torchvision_sets import fetch_cifar

SPEC = DatasetSpec(
    name="cifar10",
    task="photographs of animals and vehicles, 32x32 RGB",
    classes="10",
    rows=60_000,
    licence="none stated; free for research with citation",
    source="Krizhevsky, 'Learning Multiple Layers of Features from Tiny Images', 2009",
    preparation=PREPARATION,
    origin=Stored(key="cifar10", table=image_table, fetch=lambda fetcher: fetch_cifar(fetcher, "CIFAR10")),
)

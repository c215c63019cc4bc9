"""CIFAR-100: 60,000 photographs, 32x32 RGB, the 100 fine classes."""

from secure_sapefl.data.images import PREPARATION, image_table
from secure_sapefl.data.spec import DatasetSpec, Stored
from secure_sapefl.data.torchvision_sets import fetch_cifar

SPEC = DatasetSpec(
    name="cifar100",
    task="photographs of 100 kinds of things, 32x32 RGB",
    classes="100",
    rows=60_000,
    licence="none stated; free for research with citation",
    source="Krizhevsky, 'Learning Multiple Layers of Features from Tiny Images', 2009",
    preparation=PREPARATION,
    origin=Stored(key="cifar100", table=image_table, fetch=lambda fetcher: fetch_cifar(fetcher, "CIFAR100")),
)

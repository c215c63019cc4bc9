"""BloodMNIST (MedMNIST v2): 17,092 blood cells under the microscope, 28x28 RGB."""

from secure_sapefl.data.images import PREPARATION, image_table
from secure_sapefl.data.medmnist import fetch_medmnist
from secure_sapefl.data.spec import DatasetSpec, Stored

MD5 = "7053d0359d879ad8a5505303e11de1dc"  # published with MedMNIST v2
CLASSES = (
    "basophil",
    "eosinophil",
    "erythroblast",
    "immature_granulocytes",
    "lymphocyte",
    "monocyte",
    "neutrophil",
    "platelet",
)

SPEC = DatasetSpec(
    name="blood",
    task="kinds of blood cells, 28x28 RGB",
    classes="8",
    rows=17_092,
    licence="CC BY 4.0",
    source="Yang et al., 'MedMNIST v2', Scientific Data 2023; images: Acevedo et al., Data in Brief 2020",
    preparation=PREPARATION,
    origin=Stored(
        key="bloodmnist", table=image_table, fetch=lambda fetcher: fetch_medmnist(fetcher, "bloodmnist", MD5, CLASSES)
    ),
)

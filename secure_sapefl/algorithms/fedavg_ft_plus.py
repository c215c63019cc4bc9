"""FedAvg, fine-tuned with `sapefl-plus`'s extras and without its peers: the control that method is read against.

Twice as many epochs as a round has, and the mean of the models after each epoch of the second half.
"""

from dataclasses import replace

from torch import Tensor

from secure_sapefl.algorithms import fedavg_ft
from secure_sapefl.algorithms.fedavg_ft import FineTuningOptions
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss


def fine_tuned(group: SiteGroup, options: FineTuningOptions) -> Tensor:
    start = group.everywhere(group.theta_global)
    return group.train_averaged(start, LocalLoss(), Purpose.FINE_TUNING, options.epochs or 2 * group.local_epochs)


ALGORITHM = replace(
    fedavg_ft.ALGORITHM,
    name="fedavg-ft-plus",
    title="FedAvg + fine-tuning, averaged",
    source="this project: the control of sapefl-plus",
    personal_models=fine_tuned,
    from_common=fine_tuned,
)

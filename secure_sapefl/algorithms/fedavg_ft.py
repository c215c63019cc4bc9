"""FedAvg with fine-tuning: the global model of FedAvg, trained a little further at every site before it is used.

No paper of its own; the control that any personalized method has to beat. Nothing is kept between rounds: a site that
was not sampled fine-tunes the newest global model too.
"""

from dataclasses import replace

from pydantic import Field
from torch import Tensor

from secure_sapefl.algorithms import fedavg
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.config import Settings
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss


class FineTuningOptions(Settings):
    epochs: int | None = Field(None, ge=1, description="epochs of fine-tuning; E where not given")


def fine_tuned(group: SiteGroup, options: FineTuningOptions) -> Tensor:
    """The global model after some epochs on each site's own training rows."""
    return group.train(group.everywhere(group.theta_global), LocalLoss(), Purpose.FINE_TUNING, options.epochs)


ALGORITHM = replace(
    fedavg.ALGORITHM,
    name="fedavg-ft",
    title="FedAvg + fine-tuning",
    source="McMahan et al., AISTATS 2017, with local fine-tuning before use",
    personal_models=fine_tuned,
    from_common=fine_tuned,
    options=FineTuningOptions,
)

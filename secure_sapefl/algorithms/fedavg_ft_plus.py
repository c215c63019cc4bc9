"""FedAvg, made each site's own with all that `sapefl-plus` does without peers: the control that method is read against.

A round is FedAvg's, unless ``advice`` has a site train on labels of which a share is the global model's own word
(sape/advice.py): the fewer rows, the larger. Of what it makes for its own use the same holds.

There a site begins from a base: the newest global model or, with ``smoothing``, the exponential mean e of it over
rounds (`server_step.py`). It trains twice as many epochs as a round has and takes the mean of the models after each
epoch of the second half. Of the base itself a share stays in the mixture, told how frequent each label is at the site,
so that few rows do not make a site forget what all know:

    theta_use = (1 - a) fine-tuned + a (base, with log pi_c added to the bias of its outputs)

with pi_c the shares of the site's labels, half a row added to each. It is one model: both ends of the mixture are near
each other. Where labels have no mix (regression), or a model of one's own has no bias that is added to its outputs,
there is nothing to tell, and the fine-tuned model is used as it is.

All of this stays at the site: in a private study it costs nothing. There the training of a round is FedAvg's, since
label shares would have to be paid for, and nobody is asked.
"""

from dataclasses import replace

import torch
from pydantic import Field
from torch import Tensor

from secure_sapefl.algorithms import fedavg
from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.config import Settings
from secure_sapefl.models.base import Model
from secure_sapefl.models.output_bias import output_bias
from secure_sapefl.sape.advice import Advised, expected_labels, share_of_advice
from secure_sapefl.streams import Purpose
from secure_sapefl.tasks.base import Task
from secure_sapefl.training.objective import LocalLoss, Objective


class OwnModelOptions(Settings):
    epochs: int | None = Field(None, ge=1, description="epochs of fine-tuning; 2 E where not given")
    averaging: bool = Field(True, description="use the mean over the second half of these epochs")
    smoothing: float = Field(0.0, ge=0, lt=1, description="what a smoothed global model keeps a round; 0: the newest")
    base_share: float = Field(0.3, ge=0, le=1, description="share of the base, told the site's labels, in the model")
    advice: float = Field(0.0, ge=0, description="as how many rows others' word on a label counts; 0: nobody is asked")


def epochs_of(group: SiteGroup, options: OwnModelOptions) -> int:
    return options.epochs or 2 * group.local_epochs


def site_round(group: SiteGroup, options: OwnModelOptions) -> Contribution:
    with group.clock.phase("local"):
        common = group.everywhere(group.theta_global)
        theta_local = group.train(common, advised(group, options, common), Purpose.LOCAL_BATCHES)
    return Contribution(state={}, update=group.update_of_(theta_local), score=group.row_counts)


def advised(group: SiteGroup, options: OwnModelOptions, theta: Tensor, asks: Tensor | None = None) -> Objective:
    """The loss on each site's labels and on what ``theta`` [G, P], told the site's label mix, expects in their place;
    on labels alone where a site does not ask (``asks`` [G]; everybody does if it is not given)."""
    if options.advice == 0 or group.private is not None or group.task.label_shift is None:
        return LocalLoss()
    rows = group.row_counts
    shift = group.task.label_shift(group.label_counts, rows.unsqueeze(1))
    expected = expected_labels(group.task, group.outputs(theta), shift)
    share = share_of_advice(options.advice, rows)
    return Advised(expected, share if asks is None else share * asks)


def common_base(group: SiteGroup) -> Tensor:
    """e, for every site, [G, P]; the newest global model where nobody smooths."""
    return group.everywhere(group.theta_global if group.theta_smoothed is None else group.theta_smoothed)


def made_own(group: SiteGroup, options: OwnModelOptions, base: Tensor) -> Tensor:
    """``base`` [G, P], fine-tuned at each site and mixed with what it was."""
    train = group.train_averaged if options.averaging else group.train
    tuned = train(base, advised(group, options, base), Purpose.FINE_TUNING, epochs_of(group, options))
    shifted = shifted_to_labels(group, base) if options.base_share else None
    return tuned if shifted is None else torch.lerp(tuned, shifted, options.base_share)


def shifted_to_labels(group: SiteGroup, base: Tensor) -> Tensor | None:
    """``base`` with log pi_c added to the bias of its outputs; None where there is no such bias, or no mix."""
    if group.task.label_shift is None:
        return None
    place = output_bias(group.trainer.model, base[0], tuple(group.shard.x.shape[1:]))
    if place is None:
        return None
    shifted = base.clone()
    shifted[:, place] += group.task.label_shift(group.label_counts, group.row_counts.unsqueeze(1))
    return shifted


def why_not_shifted(model: Model, task: Task, theta: Tensor, shape: tuple[int, ...]) -> str | None:
    """Why no base has a share in own models, in words; None where it has one."""
    if task.label_shift is None:
        return f"none: labels of the task {task.name} have no mix that a common model could be corrected for"
    if output_bias(model, theta, shape) is None:
        return "none: the model has no bias at its outputs, by which a common model is corrected for a site's labels"
    return None


def from_common(group: SiteGroup, options: OwnModelOptions) -> Tensor:
    return made_own(group, options, common_base(group))


ALGORITHM = replace(
    fedavg.ALGORITHM,
    name="fedavg-ft-plus",
    title="FedAvg + fine-tuning, averaged",
    source="this project: the control of sapefl-plus",
    site_round=site_round,
    personal_models=from_common,
    from_common=from_common,
    smoothing=lambda options: options.smoothing,
    options=OwnModelOptions,
)

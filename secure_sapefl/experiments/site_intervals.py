"""How sure a site's number is where it is no share of rows classified right: the bootstrap over its test rows, as
`site report` has it."""

import math
from typing import Final

import torch

from secure_sapefl.data import ClientData, Federation
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.scored import ScoredModels
from secure_sapefl.intervals import Interval, bootstrap_rows
from secure_sapefl.metrics import Metric
from secure_sapefl.report.shown import ACCURACY, Shown

MOST_SITES: Final = 40  # more lines than that are read by programs


def row_intervals(result: Result, federation: Federation) -> tuple[Interval, ...]:
    """Of every site's own model by the task's main metric; nothing where that is an accuracy, whose interval follows
    from the number itself, or where there are too many sites to be read one by one."""
    metric, names = result.metrics[0], result.facts["client_names"]
    if Shown.from_metric(metric) == ACCURACY or len(names) > MOST_SITES or result.models is None:
        return ()
    clients = {client.name: client for client in federation.clients}
    return tuple(_judged(metric, result.models, clients[name]) for name in names)


def _judged(metric: Metric, models: ScoredModels, client: ClientData) -> Interval:
    rows = client.test
    if not len(rows):
        return Interval(math.nan, math.nan, math.nan)
    theta, x = models.thetas[client.name], torch.from_numpy(rows.X)
    outputs = models.labels.in_units(models.model.outputs(theta[None], x[None])[0].numpy())
    y = models.labels.in_units(rows.y)
    return bootstrap_rows(lambda drawn: metric.measure(outputs[drawn], y[drawn]), len(y))

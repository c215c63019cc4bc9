"""Curves of a run for TensorBoard, which is installed apart: `pip install 'secure-sapefl[tensorboard]'`."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from secure_sapefl.engine.events import RoundClosed, RunBegun, RunEnded, RunEvent
from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoardLog:
    """``simulate(config, observers=[TensorBoardLog("logs/first")])``, then ``tensorboard --logdir logs``.

    A curve for every number of a round, and for every metric how it is spread over the sites. A resumed run goes on
    behind its last saved round; what was drawn of a later one is hidden.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        self._writer: SummaryWriter | None = None

    def __call__(self, event: RunEvent) -> None:
        match event:
            case RunBegun(so_far=so_far, config=config):
                self._writer = _writer(self._folder, first_round=len(so_far.rounds) + 1)
                self._writer.add_text("config", f"```toml\n{config.to_toml()}```", len(so_far.rounds))
            case RoundClosed(record=record) if self._writer is not None:
                _draw(self._writer, record)
            case RunEnded() if self._writer is not None:
                self._writer.close()


def _writer(folder: Path, first_round: int) -> "SummaryWriter":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise BadInput("TensorBoard is not installed: pip install 'secure-sapefl[tensorboard]'.") from None
    return SummaryWriter(str(folder), purge_step=first_round)


def _draw(writer: "SummaryWriter", record: RoundRecord) -> None:
    """Steps count rounds from 1, as the progress line does. What is on disk is whole after every round."""
    step = record.round_index + 1
    for name, value in record.numbers().items():
        writer.add_scalar(name, value, step)
    for name, spread in record.personal.metrics.items():
        finite = [value for value in spread.per_client if np.isfinite(value)]
        if finite:
            writer.add_histogram(f"sites/{name}", np.asarray(finite), step)
    writer.flush()

"""What this site would have without the study: the same model, trained as long, on its own rows alone.

It is trained when somebody first asks, kept in the site's folder of the study, and used again as long as the rows are
the same. Nothing leaves, so nothing is noised and nothing is paid. The random streams are those of `simulate --method
local` for this place on the roster.
"""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.algorithms import local
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.data.arrays import read_npz
from secure_sapefl.data.federation import ClientData
from secure_sapefl.protocol.site import run_round
from secure_sapefl.site.begun_with import digest_of
from secure_sapefl.site.trainer.training import own_sites
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.storage.files import write_private
from secure_sapefl.study.terms import StudyTerms

Tell = Callable[[int, int], None]
"""Told how many rounds of how many are trained."""
_ROWS: Final = "rows"
_MODEL: Final = "theta"


def kept_or_trained(path: Path, terms: StudyTerms, rows: ClientData, tell: Tell = lambda *_: None) -> Tensor:
    """The model [P], from ``path`` if it was trained on these very rows before."""
    digest = digest_of(rows)
    if path.exists():
        arrays = read_npz(path)
        if str(arrays[_ROWS]) == digest:
            return torch.from_numpy(arrays[_MODEL])
    theta = trained_alone(terms, rows, tell)
    kept: dict[str, Any] = {_ROWS: np.array(digest), _MODEL: theta.numpy()}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **kept)
    write_private(path, buffer.getvalue())
    return theta


def trained_alone(terms: StudyTerms, rows: ClientData, tell: Tell = lambda *_: None) -> Tensor:
    """As many rounds of as many epochs as the study has, whoever is invited to them."""
    blueprint = replace(terms.blueprint, algorithm=local.ALGORITHM, options=NoOptions())
    sites = own_sites(replace(terms, blueprint=blueprint), rows)
    nobody = Peers.nobody(1, sites.theta_initial)
    for index in range(terms.file.rounds):
        group = sites.group([0], sites.theta_initial, index, nobody, Stopwatch())
        sites.keep([0], run_round(local.ALGORITHM, NoOptions(), group, [rows.name]))
        tell(index + 1, terms.file.rounds)
    return sites.state["theta_personal"][0]

"""A site alone with its records: the model it uses, which needs neither a key nor the server."""

from typing import Final

import torch
from torch import Tensor

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.data.federation import ClientData, Federation
from secure_sapefl.engine.sites import Sites
from secure_sapefl.site.state import SiteState
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.study.terms import StudyTerms

CPU: Final = torch.device("cpu")


def own_sites(terms: StudyTerms, rows: ClientData, device: torch.device = CPU) -> Sites:
    """A group of one, with the random streams of its place on the roster; its rows live on ``device``."""
    alone = Federation(
        dataset=terms.file.name,
        shape=terms.file.data.shape,
        class_names=terms.file.data.classes,
        clients=(rows,),
        source="the site's own records",
        partition="natural",
    )
    return Sites(terms.blueprint, alone, device, numbers=(terms.file.index(rows.name),))


def personal_model(terms: StudyTerms, sites: Sites, state: SiteState) -> Tensor:
    """The model the site uses, [P], as of the last round it absorbed."""
    sites.state = dict(state.own)
    nobody = Peers.nobody(1, sites.theta_initial)
    group = sites.group([0], state.theta_global, max(state.absorbed, 0), nobody, Stopwatch())
    models: Tensor = terms.blueprint.algorithm.personal_models(group, terms.blueprint.options)
    return models[0]

"""A site alone with its records: the model it uses, which needs neither a key nor the server."""

from typing import Final

import torch
from torch import Tensor

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.data.federation import ClientData, Federation
from secure_sapefl.engine.export import OwnModel
from secure_sapefl.engine.sites import Sites
from secure_sapefl.errors import HomeRejected
from secure_sapefl.models.base import loaded
from secure_sapefl.site.data import load_rows
from secure_sapefl.site.home import SiteHome
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


def trained_state(home: SiteHome, terms: StudyTerms) -> SiteState:
    """Where the site stands in a study it has trained in."""
    path = home.state_path(terms.file.digest)
    state = SiteState.load(path, study=terms.file.digest, site=home.name) if path.exists() else None
    if state is None or state.untrained:
        raise HomeRejected(
            f"Site {home.name!r} has no model of study {terms.file.name!r} yet: it is there after the first round the "
            "site takes part in."
        )
    return state


def personal_model(terms: StudyTerms, sites: Sites, state: SiteState) -> Tensor:
    """The model the site uses, [P], as of the last round it absorbed."""
    sites.state = dict(state.own)
    nobody = Peers.nobody(1, sites.theta_initial)
    group = sites.group([0], state.theta_global, max(state.absorbed, 0), nobody, Stopwatch())
    models: Tensor = terms.blueprint.algorithm.personal_models(group, terms.blueprint.options)
    return models[0]


def exported_model(home: SiteHome, terms: StudyTerms) -> OwnModel:
    """The model `site predict` uses, for its owner to use elsewhere; the server has no part in it."""
    state = trained_state(home, terms)
    rows = load_rows(home.data_path, terms.file, home.name).prepared(home.name)
    theta = personal_model(terms, own_sites(terms, rows), state)
    return OwnModel(
        module=loaded(terms.blueprint.model, theta[: terms.blueprint.model.parameters]).eval(),
        site=home.name,
        shape=terms.file.data.shape,
        classes=terms.file.data.classes,
        recipe=rows.recipe,
        about={"method": terms.file.method, "study": terms.file.name, "rounds": state.absorbed + 1},
    )

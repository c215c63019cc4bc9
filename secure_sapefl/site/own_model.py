"""A site alone with its records: the model it uses, which needs neither a key nor the server."""

from torch import Tensor

from secure_sapefl.algorithms.group import Peers
from secure_sapefl.engine.export import OwnModel
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.counting.kept import agreed_at
from secure_sapefl.site.data import load_rows
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.state import SiteState
from secure_sapefl.site.trainer.starting import training_at
from secure_sapefl.site.trainer.training import Asked, Training
from secure_sapefl.study.terms import StudyTerms


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


def personal_model(training: Training, state: SiteState) -> Tensor:
    """The model the site uses, [P], as of the last round it absorbed."""
    nobody, index = Peers.nobody(1, training.theta_initial), max(state.absorbed, 0)
    return training.personal_model(
        Asked(round_index=index, theta_global=state.theta_global, own=state.own, peers=nobody)
    )


def common_model(terms: StudyTerms, state: SiteState) -> Tensor | None:
    """The model all sites have in common, [P]; None for a method that has none."""
    if terms.blueprint.study.relay_only:
        return None
    return state.theta_global[: terms.blueprint.model.parameters]


def exported_model(home: SiteHome, terms: StudyTerms) -> OwnModel:
    """The model `site predict` uses, for its owner to use elsewhere; the server has no part in it."""
    state = trained_state(home, terms)
    rows = load_rows(home.data_path, terms.file, home.name, agreed_at(home, terms.file)).prepared(home.name)
    with training_at(home, terms, rows) as training:
        module = training.module(personal_model(training, state))
    return OwnModel(
        module=module,
        site=home.name,
        shape=terms.file.data.shape,
        classes=terms.file.data.label_names,
        recipe=rows.recipe,
        labels=terms.file.data.label_is,
        about={"method": terms.file.method, "study": terms.file.name, "rounds": state.absorbed + 1},
    )

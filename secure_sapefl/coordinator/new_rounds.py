"""Which kind of rounds a study has: by the key that all sites share, or by committees; made once, at the start."""

from collections.abc import Callable, Mapping
from functools import partial

from sapefl_crypto import Parameters
from secure_sapefl.coordinator.joint.consents import Consents
from secure_sapefl.coordinator.joint.rounds import JointRounds
from secure_sapefl.coordinator.progress import SiteProgress
from secure_sapefl.coordinator.rounds import Rounds
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.protocol.adders import encrypted_adder
from secure_sapefl.protocol.joint.adder import joint_adder
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.server import AdderFactory, Server
from secure_sapefl.study.round_terms import RoundTerms


def rounds_of(
    terms: RoundTerms, state: ServerState, sites: Mapping[SiteId, SiteProgress], clock: Callable[[], float]
) -> Rounds:
    """A study that only relays models has no sum to open, and no committee."""
    study = terms.study
    if study.keys == "shared" or study.relay_only:
        server = Server(study, _adders(terms), state.models, state.new_models)
        return Rounds(terms.file, server, state, sites, clock)
    if not terms.draws_committees:
        return JointRounds(terms.file, terms.joint(), state, sites, clock)
    consents = Consents(state.folder / "consents.json", terms.file)
    return JointRounds(terms.file, terms.joint(consents.nonces), state, sites, clock, consents)


def _adders(terms: RoundTerms) -> AdderFactory:
    if isinstance(terms.params, Parameters):
        return partial(encrypted_adder, terms.params, terms.study)
    return partial(joint_adder, terms.joint())

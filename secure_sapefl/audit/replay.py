"""A finished run once more, with every party listening."""

from collections import Counter
from dataclasses import dataclass

from sapefl_crypto import CohortKey
from secure_sapefl.audit.coalition import Coalition, LeakySites, Spoils, leaky
from secure_sapefl.audit.parties import AtServer, AtSite, NetworkObserver, Party
from secure_sapefl.audit.recording import PublicTerms, RecordedRun, judged_at_the_end
from secure_sapefl.audit.server_attacks import Forger, key_within_reach
from secure_sapefl.audit.traffic import Sizes
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
from secure_sapefl.engine.protection import Joint
from secure_sapefl.engine.result import Result
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.codec import SiteCodec
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.plaintext import PlaintextCodec


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    terms: PublicTerms
    parties: tuple[Party, ...]  # the server first
    described: dict[str, str]
    sizes: Sizes
    key_within_reach: bool
    forgeries: dict[str, bool]
    result: Result


def replay(config: Config, federation: Federation) -> Replay:
    recorded = RecordedRun(judged_at_the_end(config), federation, leaky)
    terms, site = recorded.terms, most_invited(recorded.terms, config.rounds)
    if not terms.whole_updates and not terms.algorithm.relays_models:
        raise BadInput(
            f"{terms.algorithm.title} sends models without their last layer: nobody is handed one that answers, and "
            "these attacks need answers. Audit a run of another method."
        )
    key = key_within_reach(recorded.server)
    parties, described = _listening(recorded, site, key)
    sizes, forger = Sizes(), Forger(terms, recorded.key_holder)
    result = recorded.run(*parties, sizes, *([forger] if config.protection == "ckks" else []))
    return Replay(
        terms=terms,
        parties=parties,
        described=described,
        sizes=sizes,
        key_within_reach=key is not None,
        forgeries=forger.accepted,
        result=result,
    )


def _listening(recorded: RecordedRun, site: SiteId, key: object) -> tuple[tuple[Party, ...], dict[str, str]]:
    """The parties, and who they are in words."""
    terms = recorded.terms
    keyless: SiteCodec = CkksCodec(key) if isinstance(key, CohortKey) else PlaintextCodec(terms.params)
    server = AtServer("server", terms, keyless)
    observer = NetworkObserver("observer", terms, PlaintextCodec(terms.params))
    described = {
        "server": "the server alone, with public parameters and every message it was handed",
        "peer": f"{site}, with the study's key, its peers' models and every round's sum",
        "server and one site": f"the server with the key of {site}",
        "observer": "somebody on the network, who sees names, sizes and times under TLS",
    }
    if isinstance(recorded.protection, Joint) and isinstance(sites := recorded.protection.sites, LeakySites):
        return _against_joint_keys(terms, sites, site, server, observer, described)
    peer = AtSite("peer", terms, recorded.key_holder, site)
    return (server, peer, AtServer("server and one site", terms, recorded.key_holder, site), observer), described


def _against_joint_keys(
    terms: PublicTerms, sites: LeakySites, site: SiteId, server: Party, observer: Party, described: dict[str, str]
) -> tuple[tuple[Party, ...], dict[str, str]]:
    """One member is not enough, as many as open a sum are: both are tried."""
    committee = sites.terms.committee(0)
    enough = (site, *(name for name in committee.members if name != site))[: committee.threshold]
    described |= {
        "peer": f"{site}, with its own keys, its peers' models and every round's sum",
        "server and one site": f"the server with all that {site} has and is sent, as a member of committees too",
        "server and a threshold": f"the server with as many members as open a sum: {', '.join(enough)}",
    }
    parties = (
        server,
        AtSite("peer", terms, sites.codec([site]), site),
        Coalition("server and one site", terms, Spoils(sites, (site,))),
        Coalition("server and a threshold", terms, Spoils(sites, enough)),
        observer,
    )
    return parties, described


def most_invited(terms: PublicTerms, rounds: int) -> SiteId:
    """The site that takes part most often, and so sees most."""
    invited = Counter(c for round_index in range(rounds) for c in terms.study.cohort(round_index))
    return terms.study.sites[max(sorted(invited), key=lambda c: invited[c])]

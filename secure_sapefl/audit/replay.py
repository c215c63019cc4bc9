"""A finished run once more, with every party listening."""

from collections import Counter
from dataclasses import dataclass

from secure_sapefl.audit.parties import AtServer, AtSite, NetworkObserver, Party
from secure_sapefl.audit.recording import PublicTerms, RecordedRun
from secure_sapefl.audit.server_attacks import Forger, key_within_reach
from secure_sapefl.audit.traffic import Sizes
from secure_sapefl.config import Config
from secure_sapefl.data import Federation
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
    recorded = RecordedRun(config.model_copy(update={"evaluate_every": config.rounds}), federation)
    terms, site = recorded.terms, most_invited(recorded.terms, config.rounds)
    if not terms.whole_updates and not terms.algorithm.relays_models:
        raise BadInput(
            f"{terms.algorithm.title} sends models without their last layer: nobody is handed one that answers, and "
            "these attacks need answers. Audit a run of another method."
        )
    key = key_within_reach(recorded.server)
    keyless: SiteCodec = PlaintextCodec(terms.params) if key is None else CkksCodec(key)
    parties = (
        AtServer("server", terms, keyless),
        AtSite("peer", terms, recorded.key_holder, site),
        AtServer("server and one site", terms, recorded.key_holder, site),
        NetworkObserver("observer", terms, PlaintextCodec(terms.params)),
    )
    sizes, forger = Sizes(), Forger(terms, recorded.key_holder)
    result = recorded.run(*parties, sizes, *([forger] if config.protection == "ckks" else []))
    return Replay(
        terms=terms,
        parties=parties,
        described={
            "server": "the server alone, with public parameters and every message it was handed",
            "peer": f"{site}, with the study's key, its peers' models and every round's sum",
            "server and one site": f"the server with the key of {site}",
            "observer": "somebody on the network, who sees names, sizes and times under TLS",
        },
        sizes=sizes,
        key_within_reach=key is not None,
        forgeries=forger.accepted,
        result=result,
    )


def most_invited(terms: PublicTerms, rounds: int) -> SiteId:
    """The site that takes part most often, and so sees most."""
    invited = Counter(c for round_index in range(rounds) for c in terms.study.cohort(round_index))
    return terms.study.sites[max(sorted(invited), key=lambda c: invited[c])]

"""What everybody knows of a study with joint keys before its first round. Holds no key of anybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sapefl_crypto.joint.committee import Committee
from sapefl_crypto.joint.drawing import draw_committee, planned_size
from sapefl_crypto.joint.occasion import JointRound, Moment
from sapefl_crypto.joint.plan import JointPlan
from sapefl_crypto.joint.sealing import Readers
from sapefl_crypto.keys.identity import SitePublicKeys
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTerms:
    """``roster`` has the sites' public keys, those of late ones too; ``nonces`` come from the consents of all sites
    that can be drawn for a committee."""

    study: Study
    plan: JointPlan
    roster: Mapping[SiteId, SitePublicKeys]
    nonces: Mapping[SiteId, bytes]

    def about(self, round_index: int, attempt: int = 0) -> JointRound:
        """What a round's messages are bound to. All attempts at it share one committee."""
        study = self.study
        return JointRound(
            plan=self.plan,
            committee=self.committee(round_index),
            roster=self.roster,
            study=study.name,
            round_index=round_index,
            length=study.parameters,
            attempt=attempt,
            max_score=study.max_score,
        )

    def moment(self, round_index: int, attempt: int) -> Moment:
        return Moment(study=self.study.name, round_index=round_index, attempt=attempt)

    def committee(self, round_index: int) -> Committee:
        """All sites where they are few; else drawn by the seed, which a coordinator picks, and every site's nonce."""
        study, nonces = self.study, tuple(sorted(self.nonces.items()))
        return _committee(nonces, study.seed, study.colluders, study.rounds, round_index)

    @property
    def readers(self) -> Readers:
        """Lasting sealing keys of all sites: for whom answers are sealed, so that who was away can read them later."""
        return {name: keys.sealing for name, keys in self.roster.items()}

    def readers_among(self, names: tuple[SiteId, ...]) -> Readers:
        return {name: self.roster[name].sealing for name in names}


@lru_cache(maxsize=1 << 10)
def _committee(
    nonces: tuple[tuple[SiteId, bytes], ...], seed: int, colluders: int, rounds: int, round_index: int
) -> Committee:
    size = planned_size(len(nonces), colluders=colluders, rounds=rounds)
    return draw_committee(dict(nonces), seed=str(seed).encode(), round_index=round_index, size=size)

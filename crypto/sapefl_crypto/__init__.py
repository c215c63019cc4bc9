"""Encrypted weighted sums for people who need not know any federated learning. See README.md in the folder above.

Names are imported when first used, so that reading an error class or a site's public key does not load TenSEAL.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapefl_crypto.aggregate import Aggregate as Aggregate
    from sapefl_crypto.aggregator import Aggregator as Aggregator
    from sapefl_crypto.aggregator import HiddenAggregator as HiddenAggregator
    from sapefl_crypto.claims import Claim as Claim
    from sapefl_crypto.claims import ClaimPolicy as ClaimPolicy
    from sapefl_crypto.claims import OwnPart as OwnPart
    from sapefl_crypto.claims import quantise_score as quantise_score
    from sapefl_crypto.cohort import CohortKey as CohortKey
    from sapefl_crypto.errors import AggregateRejected as AggregateRejected
    from sapefl_crypto.errors import CryptoError as CryptoError
    from sapefl_crypto.errors import FrameRejected as FrameRejected
    from sapefl_crypto.errors import KeyRejected as KeyRejected
    from sapefl_crypto.errors import ParametersRejected as ParametersRejected
    from sapefl_crypto.errors import ValueRejected as ValueRejected
    from sapefl_crypto.joint.aggregate import JointAggregate as JointAggregate
    from sapefl_crypto.joint.aggregate import JointClaim as JointClaim
    from sapefl_crypto.joint.aggregator import JointAggregator as JointAggregator
    from sapefl_crypto.joint.certificate import Certificate as Certificate
    from sapefl_crypto.joint.committee import Committee as Committee
    from sapefl_crypto.joint.member import Member as Member
    from sapefl_crypto.joint.occasion import JointRound as JointRound
    from sapefl_crypto.joint.opening import open_mean as open_mean
    from sapefl_crypto.joint.plan import JointPlan as JointPlan
    from sapefl_crypto.joint.policy import JointPolicy as JointPolicy
    from sapefl_crypto.joint.round_key import RoundKey as RoundKey
    from sapefl_crypto.joint.sealing import SealingKey as SealingKey
    from sapefl_crypto.joint.tags import TagRoot as TagRoot
    from sapefl_crypto.keys.identity import SiteIdentity as SiteIdentity
    from sapefl_crypto.keys.identity import SitePublicKeys as SitePublicKeys
    from sapefl_crypto.keys.signing import sign_frame as sign_frame
    from sapefl_crypto.keys.signing import verify_frame as verify_frame
    from sapefl_crypto.parameters import Parameters as Parameters
    from sapefl_crypto.pool import KeyPool as KeyPool

_HOMES = {
    "aggregate": ("Aggregate",),
    "aggregator": ("Aggregator", "HiddenAggregator"),
    "claims": ("Claim", "ClaimPolicy", "OwnPart", "quantise_score"),
    "cohort": ("CohortKey",),
    "errors": (
        "AggregateRejected", "CryptoError", "FrameRejected", "KeyRejected", "ParametersRejected", "ValueRejected",
    ),
    "keys.identity": ("SiteIdentity", "SitePublicKeys"),
    "joint.aggregate": ("JointAggregate", "JointClaim"),
    "joint.aggregator": ("JointAggregator",),
    "joint.certificate": ("Certificate",),
    "joint.committee": ("Committee",),
    "joint.member": ("Member",),
    "joint.occasion": ("JointRound",),
    "joint.opening": ("open_mean",),
    "joint.plan": ("JointPlan",),
    "joint.policy": ("JointPolicy",),
    "joint.round_key": ("RoundKey",),
    "joint.sealing": ("SealingKey",),
    "joint.tags": ("TagRoot",),
    "parameters": ("Parameters",),
    "pool": ("KeyPool",),
    "keys.signing": ("sign_frame", "verify_frame"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_GONE = {  # since 0.2.0
    "EncryptionPool": "KeyPool does a key's work in other processes, pool.submit(CohortKey.encrypt, vector, ...)",
    "ShardedSum": "one Aggregator adds all frames of a round",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        instead = f" any more: {_GONE[name]}." if name in _GONE else ""
        raise AttributeError(f"sapefl_crypto has no {name!r}{instead}")
    return getattr(import_module(f"sapefl_crypto.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__

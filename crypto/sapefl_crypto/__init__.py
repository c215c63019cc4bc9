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
    from sapefl_crypto.identity import SiteIdentity as SiteIdentity
    from sapefl_crypto.identity import SitePublicKeys as SitePublicKeys
    from sapefl_crypto.parameters import Parameters as Parameters
    from sapefl_crypto.pool import EncryptionPool as EncryptionPool
    from sapefl_crypto.pool import ShardedSum as ShardedSum
    from sapefl_crypto.signing import sign_frame as sign_frame
    from sapefl_crypto.signing import verify_frame as verify_frame

_HOMES = {
    "aggregate": ("Aggregate",),
    "aggregator": ("Aggregator", "HiddenAggregator"),
    "claims": ("Claim", "ClaimPolicy", "OwnPart", "quantise_score"),
    "cohort": ("CohortKey",),
    "errors": (
        "AggregateRejected", "CryptoError", "FrameRejected", "KeyRejected", "ParametersRejected", "ValueRejected",
    ),
    "identity": ("SiteIdentity", "SitePublicKeys"),
    "parameters": ("Parameters",),
    "pool": ("EncryptionPool", "ShardedSum"),
    "signing": ("sign_frame", "verify_frame"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"sapefl_crypto has no {name!r}")
    return getattr(import_module(f"sapefl_crypto.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__

"""How sites fix the nonces that committees are drawn from: all commit to theirs before anybody shows one.

    server                      site
    Call()                 ->   Commitment      a hash of the nonce in its consent
    Call(commitments)      ->   Opening         the nonce, and a digest of all commitments the site was shown
    Call(…, openings)      ->   Settled         every nonce is what was committed to, and everybody saw the same

Whoever shows his nonce last would else choose it, and with it the committees. Now he can only keep silent, and then the
study does not begin. A server that shows different commitments to different sites is found by the digests.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import sign_document, verify_document
from secure_sapefl.protocol.messages import SiteId

NONCE_BYTES: Final = 32
_COMMITMENT: Final = "joint nonce commitment"
_OPENING: Final = "joint nonce"
Roster = Mapping[SiteId, SitePublicKeys]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    site: SiteId
    digest: bytes
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    site: SiteId
    nonce: bytes
    seen: bytes  # `digest_of` the commitments that the site was shown
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The site has every nonce and can be told of committees."""

    site: SiteId


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What the server has so far; all of it, or nothing."""

    commitments: tuple[Commitment, ...] = ()
    openings: tuple[Opening, ...] = ()


Said = Commitment | Opening | Settled


def nonce_in(study: str, consented: bytes) -> bytes:
    """A site's nonce in one study on the wire, from that in its consent. What sites count before they train is a study
    of its own: a nonce shown there must not be known when sites commit to those of the training."""
    return hashlib.sha256(bind("sapefl joint nonce in a study 1", study, consented)).digest()


def commitment(identity: SiteIdentity, study: str, nonce: bytes) -> Commitment:
    site = identity.public.name
    digest = _hidden(study, site, nonce)
    signature = sign_document(identity, bind(study, digest), kind=_COMMITMENT)
    return Commitment(site=site, digest=digest, signature=signature)


def opening(identity: SiteIdentity, study: str, nonce: bytes, seen: bytes) -> Opening:
    signature = sign_document(identity, bind(study, nonce, seen), kind=_OPENING)
    return Opening(site=identity.public.name, nonce=nonce, seen=seen, signature=signature)


def check_commitment(one: Commitment, study: str, roster: Roster) -> None:
    """`FrameRejected` unless this site of the roster made it for this study."""
    _require_on(roster, one.site)
    verify_document(roster[one.site], bind(study, one.digest), one.signature, kind=_COMMITMENT)


def check_opening(one: Opening, study: str, roster: Roster, commitments: Mapping[SiteId, Commitment]) -> None:
    """`FrameRejected` unless it is what the site committed to, and the site was shown these very commitments."""
    _require_on(roster, one.site)
    verify_document(roster[one.site], bind(study, one.nonce, one.seen), one.signature, kind=_OPENING)
    if len(one.nonce) != NONCE_BYTES or _hidden(study, one.site, one.nonce) != commitments[one.site].digest:
        raise FrameRejected(f"Site {one.site!r}: its nonce is not the one it committed to; no committee is drawn.")
    if one.seen != digest_of(commitments.values()):
        raise FrameRejected(f"Site {one.site!r} was shown other commitments than this site; no committee is drawn.")


def everybody(said: Iterable[Commitment | Opening], roster: Roster) -> bool:
    """Whether each site of the roster spoke, once."""
    return sorted(one.site for one in said) == sorted(roster)


def digest_of(commitments: Iterable[Commitment]) -> bytes:
    ordered = sorted(commitments, key=lambda one: one.site)
    parts = (part for one in ordered for part in (one.site, one.digest))
    return hashlib.sha256(bind("sapefl joint commitments 1", *parts)).digest()


def _hidden(study: str, site: SiteId, nonce: bytes) -> bytes:
    return hashlib.sha256(bind("sapefl joint nonce commitment 1", study, site, nonce)).digest()


def _require_on(roster: Roster, site: SiteId) -> None:
    if site not in roster:
        raise FrameRejected(f"{site!r} is not on the roster; its nonce counts for nothing.")

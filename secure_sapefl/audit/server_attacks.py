"""What a server of an encrypted study can try beyond looking: find a key in its reach, or pass off another sum.

The forgeries are made as a server would make them, with public parameters and the frames of the round; the sites'
answer to each is what the run's own code says. A plaintext study promises nothing here, and is not asked.
"""

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Final

from sapefl_crypto import Aggregate, CohortKey, Parameters
from sapefl_crypto.aggregator import RunningSum
from sapefl_crypto.errors import CryptoError
from sapefl_crypto.frames import parse_frame
from sapefl_crypto.joint.aggregator import LimbSum
from sapefl_crypto.joint.frames import signed_part
from sapefl_crypto.joint.openable import OpenableSum
from sapefl_crypto.joint.round_key import RoundKey
from sapefl_crypto.joint.rows import ROW_BYTES
from sapefl_crypto.joint.sealing import SealingKey
from sapefl_crypto.joint.tags import TagRoot
from sapefl_crypto.keys.identity import SiteIdentity
from secure_sapefl.audit.recording import PublicTerms, RoundMessages
from secure_sapefl.protocol.codec import SiteCodec

_OPAQUE: Final = (type, ModuleType, CodeType)
Secrets = CohortKey | RoundKey | SealingKey | SiteIdentity | TagRoot
"""What nobody may find at the server."""


def reachable(root: object) -> Iterator[object]:
    """All objects that lead from ``root``, but not through classes, modules or a function's globals."""
    seen, waiting, alive = set[int](), [root], []  # the last so that no id is used twice while we look
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _OPAQUE):
            continue
        seen.add(id(one))
        alive.append(one)
        yield one
        if isinstance(one, FunctionType):
            waiting += [one.__closure__, one.__defaults__, one.__kwdefaults__, one.__dict__]
        elif isinstance(one, BuiltinFunctionType):
            waiting.append(one.__self__)
        else:
            waiting += gc.get_referents(one)


def key_within_reach(server: object) -> Secrets | None:
    return next((one for one in reachable(server) if isinstance(one, Secrets)), None)


class Forger:
    """Tries every forgery on the first round that has something to forge; ``accepted`` says which ones passed."""

    def __init__(self, terms: PublicTerms, codec: SiteCodec) -> None:
        self._terms, self._codec = terms, codec
        self._last: RoundMessages | None = None
        self.accepted: dict[str, bool] = {}

    def hear(self, messages: RoundMessages) -> None:
        if not self.accepted and self._last is not None and len(messages.outcome.weights) > 1:
            self.accepted = dict((*self._sums(messages, self._last), *self._models(messages)))
        self._last = messages

    def _sums(self, now: RoundMessages, last: RoundMessages) -> Iterator[tuple[str, bool]]:
        if now.outcome.aggregate is None or last.outcome.aggregate is None:
            return
        honest = dict(now.outcome.weights)
        first, *others = honest
        unequal = {site: 2 * weight if site == first else weight for site, weight in honest.items()}
        yield "one site's update as the sum", self._passes(now, self._instead(now, {first: honest[first]}))
        yield "a sum without one site", self._passes(now, self._instead(now, {site: honest[site] for site in others}))
        yield "a sum with other weights", self._passes(now, self._instead(now, unequal))
        yield "the last round's sum", self._passes(now, last.outcome.aggregate)

    def _instead(self, now: RoundMessages, weights: dict[str, int]) -> bytes:
        """A true sum of something else, under the honest sum's claim."""
        params = self._terms.params
        if not isinstance(params, Parameters):
            return self._jointly_instead(now, weights)
        honest, other = Aggregate.from_bytes(now.outcome.aggregate or b""), RunningSum(params)
        for upload in now.uploads:
            if upload.update is not None and upload.site in weights:
                frame = parse_frame(upload.update, params, honest.occasion)
                other.fold(frame.payload, weights[upload.site])
        return replace(honest, payload=other.payload()).to_bytes()

    def _jointly_instead(self, now: RoundMessages, weights: dict[str, int]) -> bytes:
        """The same with joint keys: certificate and answers are those of the honest sum."""
        honest = OpenableSum.from_bytes(now.outcome.aggregate or b"")
        payloads = {
            upload.site: memoryview(upload.update)[len(signed_part(upload.update)) :]
            for upload in now.uploads
            if upload.update is not None and upload.site in weights
        }
        chunks = len(next(iter(payloads.values()))) // ROW_BYTES
        other = LimbSum(chunks)
        for site, payload in payloads.items():
            other.fold(payload, weights[site])
        return replace(honest, aggregate=replace(honest.aggregate, payload=other.payload())).to_bytes()

    def _models(self, now: RoundMessages) -> Iterator[tuple[str, bool]]:
        sealed = [upload.theta_personal for upload in now.uploads if upload.theta_personal is not None]
        if len(sealed) > 1:
            (mine, theirs, *_), study, at = sealed, self._terms.study.name, now.outcome.round_index
            opened = _taken(lambda: self._codec.open(mine.blob, study=study, round_index=at, sender=theirs.sender))
            yield "one site's model as another's", opened

    def _passes(self, now: RoundMessages, forged: bytes) -> bool:
        study, at = self._terms.study.name, now.outcome.round_index
        return _taken(lambda: self._codec.decrypt(forged, study=study, round_index=at))


def _taken(use: Callable[[], object]) -> bool:
    try:
        use()
    except CryptoError:
        return False
    return True

"""What an audit found, party by party, and which promises of the system it found broken."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from secure_sapefl.audit.file_rows import Moved
from secure_sapefl.audit.mechanisms import MechanismAudit
from secure_sapefl.audit.membership import Membership
from secure_sapefl.audit.one_run import LowerBound
from secure_sapefl.audit.properties import Inference
from secure_sapefl.audit.rebuilding import Rebuilding

Inferences = tuple[Inference, ...] | str
"""What could be inferred, or the sentence that says why nothing was tried."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A promise that did not hold, and which check found it."""

    check: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyFindings:
    name: str
    who: str
    memberships: tuple[Membership, ...]
    rebuilding: Rebuilding | None
    scores: Inferences
    sizes: Inferences
    times: Inferences

    def to_json(self) -> dict[str, Any]:
        return {
            "who": self.who,
            "membership": {one.kind: one.to_json() for one in self.memberships},
            "inversion": None if self.rebuilding is None else self.rebuilding.to_json(),
            "properties": {"scores": _inferred(self.scores), "sizes": _inferred(self.sizes)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EmpiricalEpsilon:
    lower: LowerBound
    claimed: float | None  # by the ledgers; None in a run without differential privacy
    delta: float
    mechanisms: tuple[MechanismAudit, ...]
    replaced: float | None = None  # what is claimed for a record that is replaced
    moved: Moved | None = None  # by one row of the file; None in a run without differential privacy

    def to_json(self) -> dict[str, Any]:
        return {
            **self.lower.to_json(),
            "claimed": self.claimed,
            "claimed_replace_one": self.replaced,
            "from_the_file": None if self.moved is None else self.moved.to_json(),
            "delta": self.delta,
            "mechanisms": [one.to_json() for one in self.mechanisms],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    facts: dict[str, Any]
    parties: tuple[PartyFindings, ...]
    control: Rebuilding
    encrypted: bool
    key_within_reach: bool
    forgeries: dict[str, bool]
    epsilon: EmpiricalEpsilon
    sizes: dict[str, Any]

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Promises that did not hold. What nobody promised, such as secrecy in a plaintext run, is a finding and no
        alarm."""
        return (*self._encryption_alarms(), *self._privacy_alarms())

    def _encryption_alarms(self) -> Iterator[Alarm]:
        if self.key_within_reach:
            yield Alarm("key search", "A key can be reached from the server.")
        server = self.parties[0]
        if self.encrypted and (server.memberships or server.rebuilding):
            yield Alarm("server's view", "The server of an encrypted run could read a model.")
        if self.encrypted and self.facts.get("keys") == "joint" and self._one_site_reads_updates():
            yield Alarm("joint keys", "The server and one site could read an update of another.")
        for name, accepted in self.forgeries.items():
            if accepted:
                yield Alarm("forged sums", f"Sites accepted a forgery: {name}.")

    def _one_site_reads_updates(self) -> bool:
        both = next(party for party in self.parties if party.name == "server and one site")
        return both.rebuilding is not None or any(one.kind == "updates" for one in both.memberships)

    def _privacy_alarms(self) -> Iterator[Alarm]:
        bound, claimed, moved = self.epsilon.lower, self.epsilon.claimed, self.epsilon.moved
        if moved is not None and moved.most > 1:
            sentence = f"One row less in the file changes {moved.most} training records; the ledgers count one."
            yield Alarm("row of the file", sentence)
        if claimed is not None and bound.epsilon > claimed:
            sentence = f"Canaries show epsilon of at least {bound.epsilon:.2f}; the ledgers say {claimed:.2f}."
            yield Alarm("canaries", sentence)
        for one in self.epsilon.mechanisms:
            if one.broken:
                sentence = (
                    f"What {one.release} rests on, alone, has epsilon of at least {one.lower:.2f}; "
                    f"its entry in the ledger says {one.claimed:.2f}."
                )
                yield Alarm("mechanism alone", sentence)

    def to_json(self) -> dict[str, Any]:
        """`audit.json`. Everything but ``timing`` is the same again for the same run and seed."""
        return {
            **self.facts,
            "alarms": [asdict(alarm) for alarm in self.alarms],
            "empirical_epsilon": self.epsilon.to_json(),
            "parties": {party.name: party.to_json() for party in self.parties},
            "inversion_control": self.control.to_json(),
            "server_attacks": {"key_within_reach": self.key_within_reach, "forgeries_accepted": self.forgeries},
            "sizes": self.sizes,
            "timing": {party.name: _inferred(party.times) for party in self.parties},
        }


def _inferred(found: Inferences) -> list[dict[str, Any]] | str:
    return found if isinstance(found, str) else [one.to_json() for one in found]

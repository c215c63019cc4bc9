"""Record everything a server is handed over a whole run, and look in it for what sites must keep to themselves.

The recorder keeps the arguments and results of every call, and after every call all that can be reached from the
server object: attributes, closures, bound arguments, its adder and what that has taken in. The plaintext run is the
control: there the same search finds everything.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from sapefl_crypto import CohortKey, Parameters
from secure_sapefl import AggregateOpened, Config, RunEvent, SitesTrained
from secure_sapefl.audit.server_attacks import reachable
from secure_sapefl.engine import protection as protections
from secure_sapefl.engine import simulator
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.protection import Ckks
from secure_sapefl.protocol.codec import Codec
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.plaintext import PlaintextCodec
from secure_sapefl.protocol.server import Server

WINDOW = 16  # bytes of a vector that have to turn up for it to count as found
ENCODINGS = ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2")
KEY_TYPES = {"CohortKey", "SecretRing", "Secret", "SecretKey", "KeyGenerator", "Decryptor", "Encryptor", "CkksCodec"}


def as_bytes(one: object) -> bytes | None:
    match one:
        case bytes() | bytearray() | memoryview():
            return bytes(one)
        case str():
            return one.encode("utf-8", "surrogatepass")
        case np.ndarray():
            return one.tobytes()
        case torch.Tensor():
            return one.detach().cpu().numpy().tobytes()
    return None


class Recording:
    """What servers saw (`blobs`, `numbers`, `types`), and what sites held meanwhile (`secrets`, by kind)."""

    def __init__(self) -> None:
        self.blobs: set[bytes] = set()
        self.numbers: set[float] = set()
        self.types: set[str] = set()
        self.calls: list[str] = []
        self.secrets: dict[str, list[np.ndarray[Any, Any]]] = {
            "update": [],
            "personal": [],
            "mean": [],
            "global": [],
            "score": [],
        }
        self.keys: list[CohortKey] = []
        self.plan: Parameters

    def saw(self, *roots: object) -> None:
        for one in reachable(roots):
            self.types.add(type(one).__name__)
            if isinstance(one, float):
                self.numbers.add(one)
            if blob := as_bytes(one):
                self.blobs.add(blob)

    def found(self) -> set[str]:
        """The kinds of secret vectors of which a piece is among what was seen, in any encoding or as numbers."""
        everything = b"\0\0".join(self.blobs)
        return {
            kind
            for kind, vectors in self.secrets.items()
            if any(piece in everything for vector in vectors for piece in pieces(vector))
            or any(np.isin(distinctive(vector), list(self.numbers)).any() for vector in vectors)
        }


def distinctive(vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values that turn up nowhere by chance: not zero, not a power of two as public parameters are."""
    return vector[~np.isin(np.abs(np.frexp(vector)[0]), (0, 0.5))].astype(np.float64)


def pieces(vector: np.ndarray[Any, Any]) -> Iterator[bytes]:
    """Short runs of the vector's bytes, from several places where it is not zero."""
    for encoding in ENCODINGS:
        count = WINDOW // np.dtype(encoding).itemsize
        places = np.flatnonzero(vector[: len(vector) - count])
        for at in places[:: max(1, len(places) // 8)]:
            run = vector[at : at + count]
            if np.count_nonzero(run) == count:
                yield run.astype(encoding).tobytes()


def recorded_run(monkeypatch: pytest.MonkeyPatch, protection: str, scores: str = "open") -> Recording:
    recording = Recording()
    secrets = recording.secrets

    class Recorded(Server):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            recording.saw(self, args)

        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if name.startswith("_") or not callable(value):
                return value

            def call(*args: Any, **kwargs: Any) -> Any:
                answer = value(*args, **kwargs)
                recording.calls.append(name)
                recording.saw(self, args, kwargs, answer)
                return answer

            return call

    def at_the_sites(event: RunEvent) -> None:
        match event:
            case SitesTrained(contribution=contribution):
                assert contribution.update is not None
                assert contribution.shared is not None
                assert contribution.score is not None
                updates = contribution.update.numpy()
                secrets["update"] += [*updates.copy(), *recording.plan.on_grid(updates.astype(np.float64))]
                secrets["score"].append(contribution.score.numpy().copy())
                secrets["personal"] += list(contribution.shared.numpy().copy())
            case AggregateOpened(theta_global=theta):
                secrets["global"].append(theta.numpy())

    def opening(decrypt: Callable[..., Any]) -> Callable[..., Any]:
        def remembered(codec: Codec, aggregate: bytes, **about: Any) -> Any:
            secrets["mean"].append(decrypt(codec, aggregate, **about))
            return secrets["mean"][-1]

        return remembered

    for codec in (CkksCodec, PlaintextCodec):
        monkeypatch.setattr(codec, "decrypt", opening(codec.decrypt))
    monkeypatch.setattr(protections, "Server", Recorded)
    small = {"clients": 4, "rounds": 3, "local_epochs": 1, "data_options": {"rows": 200}, "workers": 0}
    config = Config(**small, protection=protection, scores=scores)
    assembly = assemble(config)
    chosen = assembly.protection()
    recording.plan = chosen.params  # which rounds updates before they are sent
    recording.keys += [chosen.key] if isinstance(chosen, Ckks) else []
    simulator.Simulation(assembly, chosen).run(observers=[at_the_sites])
    return recording


@pytest.fixture(scope="module")
def seen() -> Recording:
    with pytest.MonkeyPatch.context() as patch:
        return recorded_run(patch, "ckks")


def test_an_encrypted_run_shows_the_server_scores_and_nothing_else(seen: Recording) -> None:
    assert seen.calls.count("open_round") == seen.calls.count("close_round") == 3
    assert seen.calls.count("accept") == 9
    assert all(len(vectors) >= 3 for vectors in seen.secrets.values())
    assert seen.found() == {"score"}


def test_where_scores_are_hidden_it_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = recorded_run(monkeypatch, "ckks", scores="hidden")
    assert seen.calls.count("accept") == 9
    assert "HiddenAggregator" in seen.types
    assert seen.found() == set()


def test_an_encrypted_run_shows_the_server_no_key(seen: Recording) -> None:
    (key,) = seen.keys
    everything = b"\0\0".join(seen.blobs)
    secret = key.export_secret()
    assert not any(secret[at : at + WINDOW] in everything for at in range(40, len(secret) - WINDOW, WINDOW))
    assert key._root.reveal() not in everything  # the secret itself, which no caller is given
    assert seen.types & KEY_TYPES == set()
    assert "Aggregator" in seen.types  # the search did go through the adder


def test_the_same_search_finds_everything_in_a_plaintext_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """theta_G itself is never sent, only the step that sites add to it."""
    assert recorded_run(monkeypatch, "plaintext").found() == {"update", "personal", "mean", "score"}


def test_a_recording_names_a_key_it_was_shown() -> None:
    """Where a key may hide from the search is tested with the search, in tests/audit/test_server_attacks.py."""
    key = CohortKey.generate(Parameters(max_clients=2))
    recording = Recording()
    recording.saw(lambda: {"a": [({1: key},)]})
    assert "CohortKey" in recording.types
    assert key._root.reveal() in recording.blobs  # as above

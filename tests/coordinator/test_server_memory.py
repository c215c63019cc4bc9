"""The server's memory in a round: a running sum and one message, however many sites there are."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from sapefl_crypto import CohortKey, SiteIdentity
from secure_sapefl.coordinator.coordinator import Coordinator
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.data.tables.features import Numeric
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.protocol.messages import RoundUpload, SealedModel
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.transport.wire import ToServer, read_to_site, write_to_server

FEATURES = 1000  # some 130 000 weights: 1 MB an update, half a MB a sealed model


def peak_bytes(sites: int, folder: Path) -> tuple[int, int]:
    """Most that Python held at once while a server ran two rounds, and the model's length."""
    coordinator = SiteIdentity.generate("coordinator")
    identities = {f"s{n:02d}": SiteIdentity.generate(f"s{n:02d}") for n in range(sites)}
    features = tuple(Numeric(name=f"x{i}", low=0, high=1) for i in range(FEATURES))
    file = StudyFile(
        name="large",
        coordinator=coordinator.public.to_text(),
        roster=tuple(one.public.to_text() for one in identities.values()),
        method="sapefl",
        rounds=2,
        peers_per_client=2,
        largest_site=10,
        protection={"max_clients": 16},
        data=TableSchema(label="y", classes=("no", "yes"), features=features).model_dump(),
    )
    terms = StudyTerms.from_file(file)
    key, length = CohortKey.generate(terms.params), terms.blueprint.study.parameters
    vector = np.full(length, 0.5, dtype=np.float32)

    def answer(site: str, parts: Parts) -> Parts:
        message = read_to_site(parts, coordinator.public, file.wire_name)
        upload = None
        if message.invitation is not None:
            occasion = {"study": file.wire_name, "round_index": message.round_index, "sender": site}
            sealed = SealedModel(sender=site, round_index=message.round_index, blob=key.seal(vector, **occasion))
            upload = RoundUpload(
                site=site,
                round_index=message.round_index,
                similarity_score=1.0,
                update=key.encrypt(vector, **occasion),
                theta_personal=sealed,
            )
        absorbed = message.round_index if message.outcomes or message.invitation else 0
        reply = ToServer(
            site=site, round_index=message.round_index, nonce=message.nonce, absorbed=absorbed, upload=upload
        )
        return write_to_server(reply, identities[site], file.wire_name)

    tracemalloc.start()  # counts the one site that answers too, which is the same for few sites and for many
    try:
        with ServerState(folder, file.digest) as state:
            server = Coordinator(terms, coordinator, state)
            while not server.finished:
                for node, site in enumerate(file.sites):
                    parts = server.next_message(node)
                    if parts is not None:
                        server.receive(node, answer(site, parts))
        return tracemalloc.get_traced_memory()[1], length
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_sites(tmp_path: Path) -> None:
    few, length = peak_bytes(4, tmp_path / "few")
    many, _ = peak_bytes(16, tmp_path / "many")
    print(f"\nserver's peak for {length:,} weights: {few / 1e6:.1f} MB with 4 sites, {many / 1e6:.1f} MB with 16")
    assert many < 1.2 * few

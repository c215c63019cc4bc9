"""Hostile sites say what the experiment says they say, through the study's own encryption; honest ones are as ever."""

import numpy as np
import pytest

from secure_sapefl import Config, MessageSent, RunEvent, SitesTrained
from secure_sapefl.engine.assembly import assemble, federation_of
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.experiments.robustness import ATTACKS, Attack, flip_labels, protection_under, robustness
from secure_sapefl.protocol.codec import Vector
from secure_sapefl.protocol.messages import RoundUpload

SMALL = {"clients": 4, "rounds": 1, "rows": 200, "local_epochs": 1, "participation": 1.0, "workers": 0}


@pytest.mark.parametrize("attack", ["none", "sign-flip", "sign-flip, top score"])
def test_what_hostile_sites_send(attack: Attack) -> None:
    assembly = assemble(Config(**SMALL, method="fedavg", protection="plaintext"))
    liar, *honest = assembly.sites.names
    protection = protection_under(attack, frozenset([liar]), assembly)
    study, codec = assembly.blueprint.study, protection.codec()
    trained: dict[str, Vector] = {}
    sent: dict[str, tuple[Vector, float]] = {}

    def watch(event: RunEvent) -> None:
        match event:
            case SitesTrained(sites=sites, contribution=contribution):
                assert contribution.update is not None
                trained.update(zip(sites, protection.params.on_grid(contribution.update.double().numpy()), strict=True))
            case MessageSent(message=RoundUpload(update=bytes() as frame) as upload):
                update = codec.open(frame, study=study.name, round_index=0, sender=upload.site)
                sent[upload.site] = update, upload.similarity_score

    Simulation(assembly, protection).run(observers=[watch])
    for site in honest:
        np.testing.assert_allclose(sent[site][0], trained[site], rtol=1e-6)
    np.testing.assert_allclose(sent[liar][0], trained[liar] if attack == "none" else -trained[liar], rtol=1e-6)
    rows = dict(zip(assembly.sites.names, assembly.sites.sizes, strict=True))
    assert sent[liar][1] == (study.max_score if attack.endswith("top score") else rows[liar])


def test_labels_are_flipped_at_hostile_sites_alone() -> None:
    federation = federation_of(Config(**SMALL))
    before, after = federation.clients, flip_labels(federation, frozenset([federation.clients[0].name])).clients
    np.testing.assert_array_equal(after[0].train.y, federation.classes - 1 - before[0].train.y)
    assert after[1:] == before[1:]


def test_every_attack_is_a_row() -> None:
    rows = list(robustness(Config(**SMALL), ["fedavg"], seeds=1, share=0.25, tell=lambda _: None))
    assert [row.attack for row in rows] == list(ATTACKS)
    assert rows[-1].hostile_share > rows[0].hostile_share

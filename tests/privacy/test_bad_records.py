"""One record that gives no number, in a private study: whether its site is heard must not depend on it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.config import Config
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.privacy.errors import PrivacyWarning

METHODS = ["fedavg", "ditto", "perfedavg", "fedafk", "fedas", "sapefl", "sapefl-plus"]


@pytest.fixture
def federation() -> Federation:
    """Three sites; a record of the first is larger than any layer can carry."""
    rng = np.random.default_rng(0)

    def client(name: str) -> ClientData:
        rows = [Rows(rng.normal(size=(n, 4)).astype(np.float32), rng.integers(0, 2, n)) for n in (24, 6)]
        return ClientData(name=name, train=rows[0], test=rows[1])

    clients = [client(name) for name in ("a", "b", "c")]
    x = clients[0].train.X.copy()
    x[5] = 3e38
    clients[0] = replace(clients[0], train=Rows(x, clients[0].train.y))
    return Federation(
        dataset="made up",
        shape=(4,),
        class_names=("0", "1"),
        clients=tuple(clients),
        source="made up",
        partition="natural",
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_site_with_such_a_record_is_heard_like_any_other(federation: Federation, method: str) -> None:
    config = Config(
        dataset="made up",
        method=method,
        rounds=2,
        participation=1.0,
        local_epochs=1,
        batch_size=8,
        protection="plaintext",
        dp_epsilon=8.0,
        dp_delta=1e-3,
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # what the site keeps for itself may well be infinite
        warnings.simplefilter("ignore", PrivacyWarning)
        rounds = simulate(config, federation=federation).rounds
    assert [refusal for record in rounds for refusal in record.refusals] == []
    assert all(record.changed for record in rounds)

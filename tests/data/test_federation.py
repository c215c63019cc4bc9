"""What a federation says about its clients."""

import numpy as np

from secure_sapefl.data import ClientData, Federation, Rows


def rows(*labels: int) -> Rows:
    return Rows(np.zeros((len(labels), 2), np.float32), np.array(labels, np.int64))


def test_class_counts_by_hand() -> None:
    clients = (
        ClientData(name="a", train=rows(0, 0, 2), test=rows(0)),
        ClientData(name="b", train=rows(1), test=rows(1, 1)),
    )
    federation = Federation(
        dataset="d", shape=(2,), class_names=("x", "y", "z"), clients=clients, source="here", partition="iid"
    )
    assert federation.classes == 3
    assert federation.class_counts().tolist() == [[3, 0, 1], [0, 3, 0]]
    assert [len(client.train) for client in clients] == [3, 1]

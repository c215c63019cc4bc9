"""Writes the known-answer vectors beside this file. Run it only when the format changes on purpose:

    python tests/crypto/vectors/make.py

SEAL draws its own randomness, so encryptions cannot be repeated. Everything after that can: adding stored frames gives
one exact aggregate, decrypting it one vector (to the last bits of a float). The key is made for these files and
protects nothing.
"""

import json
from pathlib import Path

import numpy as np

from sapefl_crypto import Aggregate, Aggregator, CohortKey, HiddenAggregator, Parameters

HERE = Path(__file__).parent
ABOUT = {"study": "known answers", "round_index": 7}
VECTORS = {"a": [1.0, -2.5, 0.125, 8.0, 0.0], "b": [-1.0, 0.5, 3.0, -8.0, 1e-3]}
SCORES = {"a": 1.0, "b": 3.0}
MAX_SCORE = 4.0


def main() -> None:
    key = CohortKey.generate(Parameters(max_clients=4))
    store("cohort.key", key.export_secret())
    weighted = Aggregator(key.params, **ABOUT, length=5, max_score=MAX_SCORE)
    hidden = HiddenAggregator(key.params, **ABOUT, length=5)
    for sender, values in VECTORS.items():
        vector, score = np.array(values, np.float32), SCORES[sender]
        frame = store(f"{sender}.frame", key.encrypt(vector, **ABOUT, sender=sender))
        weighted.add(frame, score)
        weighed = key.encrypt_weighted(vector, score=score, max_score=MAX_SCORE, **ABOUT, sender=sender)
        hidden.add(store(f"{sender}.hidden", weighed))
    vector = np.array(VECTORS["a"], np.float32)
    store("a.sealed", key.seal(vector, **ABOUT, sender="a"))
    aggregates = {"weighted": weighted.finish(), "hidden": hidden.finish()}
    answers = {name: mean_of(key, aggregate) for name, aggregate in aggregates.items()}
    digests = {name: aggregate.digest for name, aggregate in aggregates.items()}
    described = {"fingerprint": key.fingerprint, "params_digest": key.params.digest.hex()}
    (HERE / "answers.json").write_text(json.dumps({**described, "means": answers, "digests": digests}, indent=2) + "\n")


def store(name: str, data: bytes) -> bytes:
    (HERE / name).write_bytes(data)
    return data


def mean_of(key: CohortKey, aggregate: Aggregate) -> list[float]:
    mean = key.decrypt(aggregate, **ABOUT)
    assert mean is not None
    return [float(value) for value in mean]


if __name__ == "__main__":
    main()

"""Answers become messages here or in another process, to the same effect."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sapefl_crypto import CohortKey, Parameters
from sapefl_crypto.errors import ValueRejected
from secure_sapefl import Config, simulate
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.workers import InlineProtector, ProcessProtector
from secure_sapefl.protocol.adders import encrypted_adder
from secure_sapefl.protocol.answer import Answer, protect
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.plaintext import PlaintextCodec
from secure_sapefl.protocol.study import Study

Tiny = Callable[..., Config]


def test_encrypting_in_another_process_changes_nothing(whole: tuple[Path, Result], tiny: Tiny) -> None:
    result = simulate(tiny(protection="ckks", workers=1, rounds=2))
    assert result.accuracy == whole[1].rounds[1].personal.accuracy


STUDY = Study(name="s", sites=("a", "b"), participation=1.0, seed=0, parameters=4, max_score=1.0)


def answer(value: float) -> Answer:
    return Answer(site="a", similarity_score=1.0, update=np.full(4, value, np.float32), theta_personal=None)


def test_inline_it_is_done_at_once_and_a_refusal_waits_in_the_future() -> None:
    codec = PlaintextCodec(Parameters(max_clients=2))
    with InlineProtector(lambda said, study, index: protect(said, codec, study, index)) as protector:
        sent, refused = (protector.submit(answer(value), STUDY, 0) for value in (0.5, 1e9))
    assert sent.done()
    assert sent.result() == protect(answer(0.5), codec, STUDY, 0)
    with pytest.raises(ValueRejected):
        refused.result()


def test_a_process_encrypts_under_the_key_it_was_given() -> None:
    key = CohortKey.generate(Parameters(max_clients=2))
    with ProcessProtector(key, 1) as protector:
        frame = protector.submit(answer(0.5), STUDY, 0).result().update
        refused = protector.submit(answer(1e9), STUDY, 0)
        with pytest.raises(ValueRejected):
            refused.result()
    assert frame is not None
    adder = encrypted_adder(key.params, STUDY, 0)
    adder.add(frame, 1.0, sender="a")
    found = CkksCodec(key).decrypt(adder.finish().to_bytes(), study="s", round_index=0)
    np.testing.assert_allclose(found, np.full(4, 0.5), atol=1e-6)

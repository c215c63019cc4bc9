"""From a site's result to the message that leaves it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sapefl_crypto.errors import ValueRejected
from secure_sapefl.protocol.answer import Answer, protect
from secure_sapefl.protocol.site import absorb


def test_an_answer_without_an_update_becomes_a_sealed_model_alone(bench: Any) -> None:
    answer = Answer(site="a", similarity_score=0.0, update=None, theta_personal=np.ones(20, np.float32))
    upload = protect(answer, bench.codec, bench.study, 3)
    assert upload.update is None
    assert upload.theta_personal is not None
    assert upload.size == 8 + len(upload.theta_personal.blob)


Bench = Any  # of conftest.py


@pytest.mark.parametrize("sign", [1, -1])
def test_an_update_at_the_bound_passes_and_the_next_number_does_not_leave_the_site(bench: Bench, sign: int) -> None:
    site, *_ = bench.invited
    bound = np.float32(sign * 8)
    server = bench.server()
    assert server.accept(bench.upload(site, bound))
    theta = absorb(torch.zeros(20), server.close_round(), bench.codec, bench.study.name)
    torch.testing.assert_close(theta, torch.full((20,), float(bound)), atol=1e-6, rtol=0)
    for wrong in (np.nextafter(bound, np.float32(sign * 9)), math.nan, sign * math.inf):
        with pytest.raises(ValueRejected):
            bench.upload(site, wrong)


@pytest.mark.parametrize(("scores", "sent"), [("open", 1.5), ("hidden", 0.0)])
def test_a_hidden_score_travels_in_no_field(bench: Bench, scores: str, sent: float) -> None:
    answer = Answer(site="a", similarity_score=1.5, update=np.ones(20, np.float32), theta_personal=None)
    upload = protect(answer, bench.codec, replace(bench.study, scores=scores), 3)
    assert upload.similarity_score == sent
    assert upload.theta_personal is None
    assert upload.update

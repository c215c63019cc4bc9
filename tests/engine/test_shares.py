"""What ranks tell each other of a group: what sites keep goes to all, what they send to the server alone."""

import pickle
from concurrent.futures import Future

import numpy as np
import pytest
import torch

from sapefl_crypto.errors import CryptoError
from secure_sapefl.algorithms.base import Contribution
from secure_sapefl.engine.shares import Judged, Trained
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.site import GroupRound
from secure_sapefl.streams import Purpose
from secure_sapefl.training.optimizer import Moments

UPDATE = np.array([7.0, 8.0], dtype=np.float32)
SENT = RoundUpload(site="north", round_index=0, similarity_score=1.0, update=b"frame", theta_personal=None)


@pytest.fixture
def trained() -> Trained:
    rows = torch.tensor([[1.0, 2.0]])
    contribution = Contribution(
        state={"theta_personal": rows}, update=rows, score=torch.ones(1), shared=rows, statistics={"passed": rows}
    )
    answer = Answer(site="north", similarity_score=1.0, update=UPDATE, theta_personal=None)
    result = GroupRound(contribution, np.array([True]), (answer,), ())
    good: Future[RoundUpload] = Future()
    good.set_result(SENT)
    bad: Future[RoundUpload] = Future()
    bad.set_exception(CryptoError("outside the bound"))
    return Trained([3], result, {Purpose.LOCAL_BATCHES: Moments.none_yet(rows)}, [("north", good), ("south", bad)])


def test_other_ranks_hear_what_sites_keep_and_nothing_they_send(trained: Trained) -> None:
    heard = Trained.heard(pickle.loads(pickle.dumps(trained.for_all())), None)  # noqa: S301 - made by this test
    assert heard.part == [3]
    assert heard.result.contribution.state["theta_personal"].tolist() == [[1.0, 2.0]]
    assert heard.result.contribution.statistics["passed"].tolist() == [[1.0, 2.0]]
    assert heard.memory is not None
    assert heard.memory[Purpose.LOCAL_BATCHES].first.tolist() == [[0.0, 0.0]]
    made = heard.result.contribution
    assert (made.update, made.score, made.shared, heard.result.answers, list(heard.uploads)) == (
        None,
        None,
        None,
        (),
        [],
    )


def test_the_server_is_handed_uploads_scores_and_why_there_is_none(trained: Trained) -> None:
    heard = Trained.heard(trained.for_all(), pickle.loads(pickle.dumps(trained.for_first())))  # noqa: S301 - made by this test
    assert heard.result.contribution.score is not None
    assert heard.result.contribution.score.tolist() == [1.0]
    (north, sent), (south, refused) = heard.uploads
    assert (north, sent.result(), south) == ("north", SENT, "south")
    with pytest.raises(CryptoError, match="outside the bound"):
        refused.result()


def test_a_judgement_is_everybodys() -> None:
    outputs = np.zeros((1, 2)), np.zeros(1)
    judged = Judged([4], [outputs], [outputs], torch.ones((1, 2)))
    heard = Judged.heard(pickle.loads(pickle.dumps(judged.for_all())), judged.for_first())  # noqa: S301 - made by this test
    ((site, _, _, model),) = heard.rows()
    assert model is not None
    assert (site, model.tolist()) == (4, [1.0, 1.0])


def test_models_that_nobody_keeps_do_not_travel() -> None:
    outputs = np.zeros((1, 2)), np.zeros(1)
    judged = Judged([4, 5], [outputs] * 2, [outputs] * 2, None)
    assert [model for _, _, _, model in Judged.heard(judged.for_all(), None).rows()] == [None, None]

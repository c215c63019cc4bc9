"""A recorded run hands every round's messages to its listeners, whole and in order."""

from collections.abc import Callable

from secure_sapefl import Config
from secure_sapefl.audit.recording import RecordedRun, RoundMessages
from secure_sapefl.audit.replay import Replay
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.simulator import simulate

SMALL = {"clients": 4, "rounds": 3, "participation": 0.75, "local_epochs": 1, "protection": "plaintext", "rows": 200}


class Notebook:
    def __init__(self) -> None:
        self.rounds: list[RoundMessages] = []

    def hear(self, messages: RoundMessages) -> None:
        self.rounds.append(messages)


def test_listeners_hear_rounds_and_the_run_is_the_same(tiny: Callable[..., Config]) -> None:
    config = tiny(**SMALL, data_options={})
    federation, notebook = federation_of(config), Notebook()
    recorded = RecordedRun(config, federation)
    result = recorded.run(notebook)
    assert result.accuracy == simulate(config, federation=federation).accuracy
    for round_index, messages in enumerate(notebook.rounds):
        invited = [recorded.terms.study.sites[c] for c in recorded.terms.study.cohort(round_index)]
        assert [invitation.site for invitation in messages.invitations] == invited
        assert sorted(upload.site for upload in messages.uploads) == sorted(invited)
        assert messages.outcome.round_index == round_index
        assert dict(messages.outcome.weights) == dict(result.rounds[round_index].weights)
        assert len(messages.seconds) == len(messages.uploads)
        assert all(seconds >= 0 for seconds in messages.seconds)
    assert len(notebook.rounds) == 3


def test_nobody_hears_of_a_method_that_sends_nothing_but_empty_rounds(tiny: Callable[..., Config]) -> None:
    config, notebook = tiny(**SMALL, method="local", data_options={}), Notebook()
    RecordedRun(config, federation_of(config)).run(notebook)
    assert [(messages.uploads, messages.outcome.aggregate) for messages in notebook.rounds] == [((), None)] * 3


def test_encryption_changes_no_number_of_a_recorded_run(runs: dict[str, Replay]) -> None:
    assert runs["plaintext"].result.accuracy == runs["ckks"].result.accuracy


def test_a_recorded_run_leaves_ledgers_alone(small: Callable[..., Config], tmp_path: object) -> None:
    config = small(dp_epsilon=4.0, dp_delta=1e-5, dp_ledgers=tmp_path)
    assert RecordedRun(config, federation_of(config)).config.dp_ledgers is None

"""A study is put together in one place, and everything that follows from its configuration is in it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl import Config
from secure_sapefl.engine.assembly import assemble, divided, federation_of, study_name
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.tasks.builtin import CLASSIFICATION

Make = Callable[..., Config]


def test_it_says_in_full_what_was_left_open(tiny: Make) -> None:
    config = assemble(tiny(clients=None, late_clients=1, options={"influence": 0.25})).blueprint.config
    assert config.clients == len(federation_of(tiny(clients=None)).clients)
    assert config.options["influence"] == 0.25
    assert len(config.options) > 1
    assert assemble(config).blueprint.config == config, "and once more changes nothing"


def test_terms_are_of_those_who_train(tiny: Make) -> None:
    assembly = assemble(tiny(method="fedavg", late_clients=1))
    study, sizes = assembly.blueprint.study, assembly.sites.sizes
    assert study.name == study_name(tiny(method="fedavg")) == "fedavg-0"
    assert study.sites == assembly.sites.names
    assert len(study.sites) == 3
    assert assembly.late is not None
    assert {client.name for client in assembly.late.clients}.isdisjoint(study.sites)
    assert study.max_score == max(sizes)
    assert study.parameters == assembly.blueprint.model.parameters


def test_a_mistake_shows_before_data_is_read(tiny: Make) -> None:
    for change in ({"method": "fedvag"}, {"options": {"influence": 7}}):
        with pytest.raises(BadInput):
            assemble(tiny(dataset="nowhere.npz", **change))
    with pytest.raises(UnknownName, match="Did you mean 'fedavg'"):
        assemble(tiny(dataset="nowhere.npz", method="fedvag"))


def test_nothing_is_held_until_it_is_asked_for(tiny: Make, tmp_path: Path) -> None:
    """Predictions are made of runs whose ledgers may be in use."""
    config = tiny(dp_epsilon=4.0, dp_delta=1e-5, dp_ledgers=tmp_path / "ledgers")
    assembly = assemble(config)
    assert not (tmp_path / "ledgers").exists()
    assembly.privacy().close()
    assert len(list((tmp_path / "ledgers").glob("*.jsonl"))) == 4


def test_what_a_budget_does_not_cover_is_said_when_privacy_is_asked_for(tiny: Make) -> None:
    config = tiny(dp_epsilon=4.0, dp_delta=1e-5)
    learned = assemble(config, replace(federation_of(config), learned=True))
    with pytest.warns(PrivacyWarning, match="Not covered"):
        learned.privacy()


def test_those_who_come_late_are_the_last(tiny: Make) -> None:
    federation = federation_of(tiny())
    now, then = divided(federation, 1)
    assert then is not None
    assert (*now.clients, *then.clients) == federation.clients
    assert divided(federation, 0) == (federation, None)


def test_balanced_weights_are_counted_and_written_down_and_a_budget_refuses_them(tiny: Callable[..., Config]) -> None:
    assembly = assemble(tiny(class_weights="balanced"))
    labels = np.concatenate([client.train.y for client in assembly.federation.clients])
    weights = [float(one) for one in str(assembly.blueprint.config.class_weights).split(",")]
    assert weights == pytest.approx(len(labels) / (3 * np.bincount(labels)), rel=1e-5)
    assert assembly.facts()["class_weights"] == assembly.blueprint.config.class_weights
    with pytest.raises(BadInput, match="Give the weights as public"):
        assemble(tiny(class_weights="balanced", dp_epsilon=4.0, dp_delta=1e-3))
    assert (
        assemble(tiny(class_weights="1,2,3", dp_epsilon=4.0, dp_delta=1e-3)).blueprint.config.class_weights == "1,2,3"
    )
    with pytest.raises(BadInput, match="for classification"):
        assemble(tiny(class_weights="1,2,3", task="regression"))


def test_labels_decide_about_the_task_unless_it_is_named(tiny: Callable[..., Config]) -> None:
    number = tiny(data_options={"rows": 120, "labels": "number"})
    assert assemble(number).blueprint.task.name == "regression"
    assert assemble(number).facts()["divided_by"] == "tenths of the label's public range"
    federation = federation_of(number)
    with pytest.raises(BadInput, match="Choose another task"):
        assemble(tiny(), federation, task=CLASSIFICATION)
    with pytest.raises(BadInput, match="FedAS needs classes"):
        assemble(tiny(task="multilabel", method="fedas"))

"""A study gets the protection it asked for, never a weaker one."""

import os
from dataclasses import replace
from functools import partial

import pytest

from sapefl_crypto import Parameters
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine.protection import Ckks, Joint, Plaintext, protection_for, worker_count
from secure_sapefl.engine.rounds import CommitteeRounds, PlainRounds
from secure_sapefl.engine.workers import InlineProtector, ProcessProtector
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.joint.adder import JointAdder
from secure_sapefl.protocol.joint.codec import JointCodec
from secure_sapefl.protocol.plaintext import PlaintextCodec
from secure_sapefl.protocol.study import Study

STUDY = Study(name="s", sites=("a", "b", "c"), participation=1.0, seed=0, parameters=4, max_score=1.0)
JOINT = replace(STUDY, keys="joint")


@pytest.mark.parametrize("method", ALGORITHMS)
def test_only_a_method_that_sends_nothing_goes_without_encryption(method: str) -> None:
    silent = method == "local"
    assert isinstance(protection_for("ckks", ALGORITHMS[method], STUDY, 0), Plaintext if silent else Ckks)
    assert isinstance(protection_for("plaintext", ALGORITHMS[method], STUDY, 0), Plaintext)


def test_each_kind_knows_its_sites_codec_and_where_it_encrypts(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, encrypted = (protection_for(name, ALGORITHMS["fedavg"], STUDY, 0) for name in ("plaintext", "ckks"))
    assert isinstance(plain.codec(), PlaintextCodec)
    assert isinstance(encrypted.codec(), CkksCodec)
    assert isinstance(encrypted.protector(), InlineProtector)
    monkeypatch.setattr("secure_sapefl.engine.protection.worker_count", worker_count)  # which other tests do without
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert protection_for("ckks", ALGORITHMS["fedavg"], STUDY, None).workers == 3
    with protection_for("ckks", ALGORITHMS["fedavg"], STUDY, 1).protector() as protector:
        assert isinstance(protector, ProcessProtector)


def test_what_the_server_adds_with_leads_to_no_key() -> None:
    encrypted = protection_for("ckks", ALGORITHMS["fedavg"], STUDY, 0)
    adders = encrypted.adders(STUDY)
    assert isinstance(adders, partial)
    assert adders.args == (encrypted.params, STUDY)
    assert adders.keywords == {}


def test_a_cohort_of_one_still_has_room_for_a_sum() -> None:
    alone = replace(STUDY, sites=("a",))
    assert protection_for("ckks", ALGORITHMS["fedavg"], alone, 0).params.max_clients == 2


@pytest.mark.parametrize("method", ALGORITHMS)
def test_joint_keys_are_a_kind_of_their_own_with_a_twin_of_the_same_plan(method: str) -> None:
    joint, twin = (protection_for(name, ALGORITHMS[method], JOINT, 0) for name in ("ckks", "plaintext"))
    assert isinstance(joint, Plaintext if method == "local" else Joint)
    assert isinstance(twin, Plaintext)
    assert twin.params == joint.params == Parameters.joint(max_clients=3)


def test_a_committee_is_called_only_where_there_are_sums() -> None:
    joint = protection_for("ckks", ALGORITHMS["fedavg"], JOINT, 0)
    assert isinstance(joint.codec(), JointCodec)
    assert isinstance(joint.adders(JOINT)(0), JointAdder)
    assert isinstance(joint.rounds(JOINT, {}), CommitteeRounds)
    assert isinstance(joint.rounds(replace(JOINT, relay_only=True), {}), PlainRounds)
    assert isinstance(joint.protector(), InlineProtector)

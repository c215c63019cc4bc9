"""A study gets the protection it asked for, never a weaker one."""

import os
from functools import partial

import pytest

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine.protection import Ckks, Plaintext, protection_for
from secure_sapefl.engine.workers import InlineProtector, ProcessProtector
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.plaintext import PlaintextCodec
from secure_sapefl.protocol.study import Study

STUDY = Study(name="s", sites=("a", "b"), participation=1.0, seed=0, parameters=4, max_score=1.0)


@pytest.mark.parametrize("method", ALGORITHMS)
def test_only_a_method_that_sends_nothing_goes_without_encryption(method: str) -> None:
    silent = method == "local"
    assert isinstance(protection_for("ckks", ALGORITHMS[method], 3, 0), Plaintext if silent else Ckks)
    assert isinstance(protection_for("plaintext", ALGORITHMS[method], 3, 0), Plaintext)


def test_each_kind_knows_its_sites_codec_and_where_it_encrypts(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, encrypted = (protection_for(name, ALGORITHMS["fedavg"], 3, 0) for name in ("plaintext", "ckks"))
    assert isinstance(plain.codec(), PlaintextCodec)
    assert isinstance(encrypted.codec(), CkksCodec)
    assert isinstance(encrypted.protector(), InlineProtector)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert protection_for("ckks", ALGORITHMS["fedavg"], 3, None).workers == 3
    with protection_for("ckks", ALGORITHMS["fedavg"], 3, 1).protector() as protector:
        assert isinstance(protector, ProcessProtector)


def test_what_the_server_adds_with_leads_to_no_key() -> None:
    encrypted = protection_for("ckks", ALGORITHMS["fedavg"], 3, 0)
    adders = encrypted.adders(STUDY)
    assert isinstance(adders, partial)
    assert adders.args == (encrypted.params, STUDY)
    assert adders.keywords == {}


def test_a_cohort_of_one_still_has_room_for_a_sum() -> None:
    assert protection_for("ckks", ALGORITHMS["fedavg"], 1, 0).params.max_clients == 2

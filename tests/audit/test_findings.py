"""An alarm is a promise that did not hold, and nothing else."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from secure_sapefl.audit.file_rows import Moved
from secure_sapefl.audit.findings import EmpiricalEpsilon, Findings, PartyFindings
from secure_sapefl.audit.inversion import Rebuilt
from secure_sapefl.audit.mechanisms import MechanismAudit
from secure_sapefl.audit.one_run import LowerBound
from secure_sapefl.audit.properties import Inference
from secure_sapefl.audit.rebuilding import Rebuilding

ROW = torch.zeros(2)
REBUILT = Rebuilding(what="w", rows=(Rebuilt(ROW, ROW, 0.1),), errors=(0.1, 0.9), nearer_to_members=0.5, psnr=None)
SOUND = MechanismAudit(release="update", trials=10, lower=0.5, claimed=1.0, reachable=3.0)
EPSILON = EmpiricalEpsilon(
    lower=LowerBound(epsilon=1.0, canaries=10, guesses=8, right=7, reachable=2.0),
    claimed=2.0,
    replaced=4.0,
    delta=1e-5,
    mechanisms=(SOUND,),
    moved=Moved(5, 1),
)
SERVER = PartyFindings(
    name="server", who="the server", memberships=(), rebuilding=None, scores="none sent", sizes="all alike", times=()
)
FINDINGS = Findings(
    facts={"method": "sapefl"},
    parties=(SERVER,),
    control=REBUILT,
    encrypted=True,
    key_within_reach=False,
    forgeries={"a sum without one site": False},
    epsilon=EPSILON,
    sizes={"update": [10]},
)
READS = replace(SERVER, rebuilding=REBUILT)


def test_a_sound_run_raises_none() -> None:
    assert FINDINGS.alarms == ()


@pytest.mark.parametrize(
    ("change", "check", "said"),
    [
        ({"epsilon": replace(EPSILON, moved=Moved(5, 2))}, "row of the file", "changes 2 training records"),
        ({"key_within_reach": True}, "key search", "A key can be reached"),
        ({"parties": (READS,)}, "server's view", "could read a model"),
        (
            {"facts": {"keys": "joint"}, "parties": (SERVER, replace(READS, name="server and one site"))},
            "joint keys",
            "server and one site could read an update",
        ),
        ({"forgeries": {"a replay": True, "another": False}}, "forged sums", "accepted a forgery: a replay."),
        ({"epsilon": replace(EPSILON, claimed=0.99)}, "canaries", "at least 1.00; the ledgers say 0.99"),
        (
            {"epsilon": replace(EPSILON, mechanisms=(SOUND, replace(SOUND, lower=1.01)))},
            "mechanism alone",
            "What update rests on, alone, has epsilon of at least 1.01",
        ),
    ],
    ids=["file", "key", "view", "one site", "forgery", "canaries", "mechanism"],
)
def test_each_promise_has_its_alarm(change: dict[str, Any], check: str, said: str) -> None:
    (alarm,) = replace(FINDINGS, **change).alarms
    assert alarm.check == check
    assert said in alarm.sentence


def test_what_nobody_promised_raises_none() -> None:
    assert replace(FINDINGS, encrypted=False, parties=(READS,)).alarms == ()
    assert replace(FINDINGS, epsilon=replace(EPSILON, claimed=None)).alarms == ()


def test_the_document_has_what_was_found_and_why_nothing_was() -> None:
    found = Inference(what="label mix", r_squared=0.5, correlation=None, p_value=0.01)
    document = replace(FINDINGS, parties=(replace(SERVER, scores=(found,)),)).to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["parties"]["server"]["properties"] == {"scores": [found.to_json()], "sizes": "all alike"}
    assert document["parties"]["server"]["inversion"] is None
    assert document["timing"] == {"server": []}
    assert document["empirical_epsilon"]["claimed"] == 2.0
    assert document["inversion_control"]["share_rebuilt"] == 0.5

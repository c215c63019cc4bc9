"""Whole studies of a method: agreement under encryption, and budgets that hold; ways to fail both."""

from pathlib import Path

import pytest

from secure_sapefl.conformance import studies

pytestmark = pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")

HEAD = """
from dataclasses import replace
import torch
from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
"""


def method(path: Path, body: str) -> str:
    path.write_text(HEAD + body)
    return str(path)


def test_ours_agree_and_keep_to_their_budget() -> None:
    assert list(studies.encrypted("sapefl")) == []
    assert list(studies.budgeted("sapefl")) == []


def test_a_state_that_is_another_each_time_is_found(tmp_path: Path) -> None:
    own = method(
        tmp_path / "drifts.py",
        """
def site_round(group, options):
    return replace(FEDAVG.site_round(group, options), state={"coin": torch.rand(group.size)})

ALGORITHM = replace(FEDAVG, site_round=site_round, initial_state=lambda theta, sites: {"coin": torch.zeros(sites)})
""",
    )
    assert list(studies.encrypted(own)) == ["coin is another than without encryption"]


def test_an_update_beyond_the_bound_is_a_refusal_by_name(tmp_path: Path) -> None:
    own = method(
        tmp_path / "shouts.py",
        """
def site_round(group, options):
    given = FEDAVG.site_round(group, options)
    return replace(given, update=given.update * torch.nan)

ALGORITHM = replace(FEDAVG, site_round=site_round)
""",
    )
    found = list(studies.encrypted(own))
    assert "round 1, client-0: training gave NaN" in found[0]
    assert "client-3" in " ".join(studies.budgeted(own))

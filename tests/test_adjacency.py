"""When two files are neighbours is said in the same words wherever an epsilon is told, and both epsilons are named."""

import re
from pathlib import Path

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.report.run_report import write_report
from secure_sapefl.site.policy import TEMPLATE, Policy
from tests.unrendered import unrendered

__all__ = ["unrendered"]
PAGE = Path(__file__).parents[1] / "docs" / "privacy.md"


def running_text(text: str) -> str:
    """Without line breaks, comment signs and tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("\n#", "\n").split())


def test_the_documentation_says_it() -> None:
    assert ADJACENCY in running_text(PAGE.read_text(encoding="utf-8"))


def test_the_policy_says_it(tmp_path: Path) -> None:
    assert ADJACENCY in running_text(TEMPLATE)
    assert "for one replaced it is about twice as much" in running_text(TEMPLATE)
    (tmp_path / "policy.toml").write_text(TEMPLATE, encoding="utf-8")
    assert Policy.load(tmp_path / "policy.toml").max_epsilon_per_study == 4


@pytest.mark.usefixtures("unrendered")
def test_summary_and_report_say_it(tmp_path: Path) -> None:
    config = Config(
        method="fedavg",
        clients=2,
        rounds=1,
        local_epochs=1,
        participation=1.0,
        protection="plaintext",
        data_options={"rows": 200},
        dp_epsilon=4.0,
        dp_delta=1e-4,
    )
    privacy = simulate(config, tmp_path / "run").summary()["privacy"]
    assert privacy["unit"] == ADJACENCY
    assert privacy["epsilon_max"] < privacy["epsilon_max_replace_one"] < 3 * privacy["epsilon_max"]
    write_report(tmp_path / "run")
    page = running_text((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert ADJACENCY in page
    assert f"The same for a record that is replaced {privacy['epsilon_max_replace_one']:.4g}" in page

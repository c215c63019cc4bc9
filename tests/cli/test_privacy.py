"""`simulate --dp-epsilon` from the outside."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("unrendered")
Cli = Callable[..., tuple[int, str, str]]

SITES = ("--clients", "2", "--partition", "iid", "--local-epochs", "1", "--participation", "1")
DATA = ("--data-option", "rows=60", "--data-option", "classes=3")
SIMULATE = ("simulate", "--rounds", "2", "--protection", "plaintext", "--out", "run", *SITES, *DATA)


def test_a_private_simulation_reports_its_budget_everywhere(cli: Cli) -> None:
    code, out, err = cli(*SIMULATE, "--dp-epsilon", "4", "--dp-delta", "1e-5")
    assert code == 0, err
    assert "of 4 at δ 1e-05" in out
    summary = json.loads(Path("run/summary.json").read_text())
    assert 0 < summary["privacy"]["epsilon_max"] <= 4
    assert "dp_epsilon = 4.0" in Path("run/config.toml").read_text()
    assert Path("run/report.html").is_file()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--dp-epsilon", "4"), "given together"),
        (("--dp-delta", "1e-5"), "given together"),
        (("--dp-epsilon", "0", "--dp-delta", "1e-5"), "dp_epsilon = 0.0 is not possible"),
        (("--dp-epsilon", "4", "--dp-delta", "1"), "dp_delta = 1.0 is not possible"),
        (("--dp-epsilon", "4", "--dp-delta", "1e-5", "--batch-size", "100"), "No site has as many rows"),
    ],
    ids=["no delta", "no epsilon", "zero", "one", "rows"],
)
def test_bad_budgets_are_sentences_with_exit_code_2(cli: Cli, options: tuple[str, ...], sentence: str) -> None:
    code, out, err = cli(*SIMULATE, *options)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err
    assert not Path("run").exists()


@pytest.mark.filterwarnings("default::secure_sapefl.privacy.errors.PrivacyWarning")
def test_a_careless_delta_is_a_sentence_that_names_n(cli: Cli) -> None:
    code, _, err = cli(*SIMULATE, "--dp-epsilon", "4", "--dp-delta", "0.1", "--method", "fedavg")
    assert code == 0
    assert "secure-sapefl: delta = 0.1 is not below 1 / n at 2 of 2 sites, which have up to n = 28 records" in err
    assert "PrivacyWarning" not in err


SHARED = ("--dp-noise", "shared", "--dp-epsilon", "4", "--dp-delta", "1e-5", "--method", "fedavg")


def test_shared_noise_tells_its_plan_first_and_both_numbers_with_m_and_t_last_and_a_comparison_shows_both(
    cli: Cli,
) -> None:
    code, out, err = cli(*SIMULATE, "--clients", "5", *SHARED)
    assert code == 0, err
    assert "5 contributors or more (m), of whom 1 may collude (t)" in err
    assert err.index("plan:") < err.index("round 1/2")
    shown = " ".join(out.replace("│", " ").split())
    summary = json.loads(Path("run/summary.json").read_text())["privacy"]
    assert f"ε_shared {summary['epsilon_shared']:.3g} of 4 at δ 1e-05" in shown
    assert "m = 5 sites or more, of whom t = 1 may collude" in shown
    assert f"ε_max {summary['epsilon_max']:.3g} if everybody else conspires" in shown
    page = Path("run/report.html").read_text()
    assert "ε_shared" in page
    assert "of whom so many may collude, t" in page
    code, _, err = cli("report", "run", "run", "--out", "both.html")
    assert code == 0, err
    assert "m 5, t 1" in Path("both.html").read_text()


def test_two_sites_cannot_hide_each_other(cli: Cli) -> None:
    code, _, err = cli(*SIMULATE, *SHARED)
    assert code == 2
    assert "--dp-contributors" in err

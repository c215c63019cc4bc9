"""The owner's file: its template is a policy, every value is the owner's, and each aggregate is held against it."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sapefl_crypto import ClaimPolicy, SiteIdentity
from sapefl_crypto.keys.custody import identity_record
from sapefl_crypto.keys.keyfile import write_key
from secure_sapefl.cli.app import app
from secure_sapefl.errors import BadInput
from secure_sapefl.site.judgement import judge
from secure_sapefl.site.policy import TEMPLATE, Line, Policy
from secure_sapefl.study.file import read_study
from secure_sapefl.study.terms import StudyTerms


def load(folder: Path, text: str = TEMPLATE) -> Policy:
    (folder / "policy.toml").write_text(text)
    return Policy.load(folder / "policy.toml")


def test_the_template_is_cautious(tmp_path: Path) -> None:
    policy = load(tmp_path)
    assert (policy.max_epsilon_per_study, policy.max_epsilon_lifetime, policy.max_delta_lifetime) == (4.0, 8.0, 1e-5)
    assert (policy.without_privacy, policy.repeatable_noise, policy.metrics_may_leave) == (False, False, False)
    assert (policy.min_cohort, policy.min_peers, policy.max_share) == (3, 2, 0.6)


def test_an_older_file_gets_the_cautious_values_of_what_came_later(tmp_path: Path) -> None:
    later = ("max_weight_ratio", "min_peers", "max_rejected_sums")
    older = "\n".join(line for line in TEMPLATE.splitlines() if not line.startswith(later))
    assert load(tmp_path, older) == load(tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("min_cohort = 3\n", "", "min_cohort"),
        ("max_share = 0.6", "max_share = 1.1", "max_share"),
        ("min_cohort = 3", "min_cohort = 3\nmin_cohrot = 3", "min_cohrot"),
        ("max_delta_lifetime = 1e-5", "max_delta_lifetime = 1.0", "max_delta_lifetime"),
    ],
    ids=["missing", "too large", "misspelt", "no probability"],
)
def test_a_value_that_is_missing_wrong_or_misspelt_is_named(
    tmp_path: Path, before: str, after: str, sentence: str
) -> None:
    assert before in TEMPLATE
    with pytest.raises(BadInput, match=sentence):
        load(tmp_path, TEMPLATE.replace(before, after))


def test_every_aggregate_is_held_against_the_owners_numbers(tmp_path: Path) -> None:
    assert load(tmp_path).claims() == ClaimPolicy(
        min_cohort=3, min_effective_cohort=2.0, max_share=0.6, max_weight_ratio=100.0, own=None
    )


def test_where_noise_is_shared_more_must_be_in_a_sum_and_all_weigh_the_same(tmp_path: Path) -> None:
    claims = load(tmp_path).claims(least_contributors=9)
    assert (claims.min_cohort, claims.max_weight_ratio) == (9, 1.0)


def test_shared_noise_counts_only_where_the_owner_says_both_lines(tmp_path: Path) -> None:
    assert load(tmp_path).least_honest is None
    said = TEMPLATE.replace("# max_epsilon_shared", "max_epsilon_shared").replace("# min_honest", "min_honest")
    assert load(tmp_path, said).least_honest == 10


def test_a_line_fits_or_conflicts() -> None:
    assert [Line.judged("t", "s", fits, "p").verdict for fits in (True, False)] == ["ok", "conflict"]


def test_the_default_policy_accepts_what_the_guide_recommends_first(tmp_path: Path) -> None:
    """The study that docs/deployment.md types, by the policy that `site init` writes."""
    guide = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text(encoding="utf-8").replace("\\\n", " ")
    (typed,) = re.findall(r"^secure-sapefl study new --name heart (.*)$", guide, re.MULTILINE)
    names = re.findall(r"--site (\S+)\.pub", typed)
    for name in ("coordinator", *names):
        keys = SiteIdentity.generate(name)
        write_key(tmp_path / f"{name}.key", identity_record(keys), passphrase=None)
        (tmp_path / f"{name}.pub").write_text(keys.public.to_text())
    words = shlex.split(typed.replace("coordinator.key", str(tmp_path / "coordinator.key")))
    words = [str(tmp_path / word) if word.endswith(".pub") else word for word in words]
    made = CliRunner().invoke(app, ["study", "new", "--name", "heart", *words, "--out", str(tmp_path / "study.toml")])
    assert made.exit_code == 0, made.output
    study, policy = read_study(tmp_path / "study.toml"), load(tmp_path)
    for site in study.sites:
        lines = judge(StudyTerms.from_file(study), policy, study.declared(site), ())
        assert [line.topic for line in lines if line.verdict == "conflict"] == []

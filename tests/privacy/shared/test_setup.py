"""Whole studies with shared noise: the plan is in the configuration, and what it promises is kept."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sapefl_crypto import Parameters
from secure_sapefl import Config
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.events import RunBegun, RunEvent
from secure_sapefl.engine.rounds import PlainRounds
from secure_sapefl.engine.run_folder import config_of
from secure_sapefl.engine.simulator import Simulation, resume, simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.ledger_file import read_events
from secure_sapefl.privacy.shared.setup import SharedNoise, most_invitations
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.server import Server
from secure_sapefl.protocol.study import draw_cohort

Make = Callable[..., Config]


def test_a_study_ends_at_the_epsilon_that_was_asked_for(config: Make) -> None:
    told = simulate(config()).privacy
    assert told is not None
    assert 0.97 * 4 < told["epsilon_shared"] <= 4 == told["epsilon_shared_budget"]
    assert told["epsilon_max"] == pytest.approx(told["shared"]["epsilon_max_planned"])
    assert told["epsilon_max"] > told["epsilon_shared"]
    assert told["stopped"] == []


def test_encrypted_and_in_the_clear_a_study_gives_the_same_bits(config: Make) -> None:
    clear, encrypted = (simulate(config(rounds=2, protection=name)) for name in ("plaintext", "ckks"))
    assert clear.accuracy == encrypted.accuracy
    assert clear.rounds[-1].everywhere == encrypted.rounds[-1].everywhere


def test_the_plan_is_told_before_the_first_round(config: Make) -> None:
    heard: list[RunEvent] = []
    simulate(config(rounds=2), observers=[heard.append])
    assert isinstance(heard[0], RunBegun)
    assert "11 contributors or more (m)" in " ".join(heard[0].plan)


def test_choices_are_kept_with_the_run_and_lead_to_the_same_plan(config: Make, tmp_path: Path) -> None:
    first = simulate(config(rounds=3), tmp_path / "run")
    kept = config_of(tmp_path / "run")
    assert kept.dp_contributors == 11
    assert kept.dp_rate is not None
    assert kept.dp_lr is not None
    again = simulate(kept)
    assert again.accuracy == first.accuracy


def test_a_run_that_was_stopped_goes_on_as_if_nothing_had_happened(config: Make, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(event: RunEvent) -> None:
        if getattr(getattr(event, "record", None), "round_index", 0) == 1:
            raise Stop

    whole = simulate(config(rounds=4))
    with pytest.raises(Stop):
        simulate(config(rounds=4), tmp_path / "run", observers=[stop])
    gone_on = resume(tmp_path / "run")
    assert gone_on.accuracy == whole.accuracy
    assert gone_on.privacy == whole.privacy


class Losing(Server):
    """Three uploads get lost on their way."""

    lost = 0

    def accept(self, upload: RoundUpload) -> bool:
        self.lost += 1
        return self.lost <= 3 or super().accept(upload)


@pytest.mark.parametrize(("rule_of_the_server", "words"), [(10, "asks for 10"), (1, "9 contributors")])
def test_a_sum_of_too_few_is_never_opened(config: Make, rule_of_the_server: int, words: str) -> None:
    """Nine of twelve come, ten are needed. Nor do the sites open what a server made that ignores the rule."""
    simulation = Simulation(assemble(config(rounds=1, dp_contributors=10)))
    study = replace(simulation.assembly.blueprint.study, least_contributors=rule_of_the_server)
    server = Losing(study, simulation.protection.adders(study), {})
    simulation._rounds = PlainRounds(server)  # a server that loses uploads is no setting of a study
    simulation.server = server
    before = simulation.key_holders.theta_global.clone()
    result = simulation.run()
    assert (simulation.key_holders.theta_global == before).all()
    assert any(words in refusal.reason for refusal in result.rounds[0].refusals)


def test_each_step_is_on_record_with_m_and_t(config: Make, tmp_path: Path) -> None:
    simulate(config(rounds=3, dp_ledgers=tmp_path))
    events = read_events(next(iter(sorted(tmp_path.glob("*.jsonl")))))
    assert [event.round_index for event in events] == [0, 1, 2]
    assert {(event.contributors, event.colluders, event.steps) for event in events} == {(11, 1, 1)}


def test_sites_pay_for_the_rounds_they_are_drawn_for(config: Make) -> None:
    rounds = [draw_cohort(0, 0.5, 12, index) for index in range(8)]
    most = max(sum(site in drawn for drawn in rounds) for site in range(12))
    assert most_invitations(0, 0.5, 12, 8) == most
    told = simulate(config(rounds=8, participation=0.5)).privacy
    assert told is not None
    assert told["stopped"] == []
    assert 0.9 * 4 < told["epsilon_shared"] <= 4


def test_more_steps_than_help_are_not_taken(config: Make) -> None:
    made = SharedNoise.from_config(
        config(rounds=5000), ALGORITHMS["fedavg"], units=(40,) * 12, parameters=100, numbers=Parameters.exact()
    )
    assert made.config.rounds == made.plan.steps == 400


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dp_epsilon": None, "dp_delta": None}, "--dp-epsilon"),
        ({"dp_unit": "person"}, "Whose the rows of 'client-00' are is not said"),
        ({"scores": "hidden"}, "no score to hide"),
        ({"dp_noise": "local", "dp_unit": "site"}, "--dp-noise shared"),
        ({"dp_contributors": 13}, "none could ever be opened"),
        ({"dp_colluders": 10}, "--dp-colluders"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    config: Make, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        assemble(config(**changes))


def test_a_whole_site_as_the_unit_is_one_of_twelve(config: Make) -> None:
    """Its update after local training is what is clipped; everybody counts once, however many records it has."""
    result = simulate(config(rounds=3, dp_unit="site", method="fedavg-ft"))
    told = result.privacy
    assert told is not None
    assert (told["shared"]["unit"], told["shared"]["units_declared"]) == ("site", 12)
    assert 0.9 * 4 < told["epsilon_shared"] <= 4
    assert told["unit"].startswith("Two studies are neighbours if all records of one site")
    assert result.rounds[-1].changed


@pytest.fixture
def visits(tmp_path: Path) -> tuple[Path, Path]:
    """A table of 300 records of 60 persons at five sites, some with one record and some with nine, and its schema."""
    rng, lines = np.random.default_rng(3), ["age,marker,ill,patient,clinic"]
    for person in range(60):
        for _ in range((1, 9)[person % 2]):
            age, marker = rng.uniform(0, 100), rng.uniform(0, 1)
            lines.append(f"{age:.2f},{marker:.4f},{'yes' if marker > 0.5 else 'no'},p{person},c{person % 5}")
    features = "".join(f'[[features]]\nname = "{n}"\nlow = 0\nhigh = {h}\n' for n, h in (("age", 100), ("marker", 1)))
    table, schema = tmp_path / "visits.csv", tmp_path / "schema.toml"
    table.write_text("\n".join(lines) + "\n")
    schema.write_text(
        f'kind = "table"\nlabel = "ill"\nclasses = ["no", "yes"]\nperson = "patient"\nsite = "clinic"\n{features}'
    )
    return table, schema


def test_a_person_as_the_unit_counts_once_however_many_records(config: Make, visits: tuple[Path, Path]) -> None:
    table, schema = visits
    changes = {"dataset": str(table), "data_schema": schema, "clients": None, "data_options": {}, "model": "linear"}
    result = simulate(config(**changes, rounds=2, dp_unit="person", method="fedavg-ft"))
    told = result.privacy
    assert told is not None
    assert (told["shared"]["unit"], told["shared"]["steps"]) == ("person", 2)
    assert 30 < told["shared"]["units_declared"] < 60, "persons to train on, not their records"
    assert sum(told["rows_declared_per_client"]) > 150
    assert told["unit"].startswith("Two files of a site are neighbours if one of them has the records of one person")
    assert 0.9 * 4 < told["epsilon_shared"] <= 4
    assert result.rounds[-1].changed


def test_secure_noise_is_not_repeated(config: Make) -> None:
    one, other = (simulate(config(rounds=1, dp_secure_noise=True)) for _ in range(2))
    assert one.privacy is not None
    assert one.privacy["generator"] == "operating system (os.urandom)"
    assert one.rounds[0].everywhere != other.rounds[0].everywhere


def test_shared_noise_is_far_below_the_noise_of_each_site_alone(config: Make) -> None:
    """The reason for all this: at the same epsilon the mean gradient is an eleventh or so as noisy."""
    shared = simulate(config(rounds=6)).privacy
    assert shared is not None
    plan = shared["shared"]
    assert plan["noise_multiplier_of_sum"] / plan["noise_multiplier_of_share"] == pytest.approx(np.sqrt(9))


def test_nobody_pays_for_a_round_that_too_few_can_pay_for(config: Make, tmp_path: Path) -> None:
    """Of twelve sites two have spent what they have in an earlier study; eleven are needed."""
    made = config(rounds=2, dp_ledgers=tmp_path)
    simulate(made)
    spent = [tmp_path / f"client-{c:02d}.jsonl" for c in range(2)]
    for ledger in (path for path in tmp_path.glob("*") if path.with_suffix(".jsonl") not in spent):
        ledger.unlink()
    again = simulate(made.model_copy(update={"seed": 1}))
    told = again.privacy
    assert told is not None
    assert sum(event["site"] in ("client-00", "client-01") for event in told["stopped"]) == 4
    kept = [event["reason"] for event in told["stopped"] if event["site"] == "client-02"]
    assert kept == [kept[0]] * 2
    assert kept[0].endswith("keeps its budget: 10 sites can pay for this round, and no sum of fewer than 11 is opened.")
    assert told["epsilon_shared_per_client"][2:] == [0.0] * 10
    assert not any(record.changed for record in again.rounds)

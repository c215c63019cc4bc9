"""Tables from kept runs, worked by hand."""

from evidence_choices import CHOICES
from evidence_kept import MARKS, NONE
from evidence_page import SECTIONS, best_first, written

NAMES = [name for one in (*CHOICES, *SECTIONS) for name in one.studies]
EMPTY = {"command": "", "sites": {}, "runs": []}


def run_of(method, seed, sites, auc=(0.9, None), judged_on="test"):
    about = {"version": "1", "commit": "abc", "seconds": 1800, "judged_on": judged_on}
    return {"method": method, "seed": seed, "main": list(sites), "second": list(auc), **about}


def study(*runs):
    return {"command": "secure-sapefl compare --dataset heart", "sites": {}, "runs": list(runs)}


def page_of(**kept):
    return written(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter", {name: kept.get(name, EMPTY) for name in NAMES})


def test_a_page_without_runs_says_so():
    assert page_of() == f"before\n{MARKS[0]}\n\n{NONE}\n\n{MARKS[1]}\nafter"


def test_numbers_of_a_table():
    sites, better = [k / 50 for k in range(20)], [k / 50 + 0.5 for k in range(20)]
    found = page_of(heart=study(run_of("local", 0, sites), run_of("ditto", 0, better), run_of("fedavg", 0, sites)))
    lines = found.splitlines()
    assert "| method | heart, 4 hospitals |" in lines
    assert lines.count("| `local` | 19.0 |") == 1  # the mean of 0, 0.02, ..., 0.38: told apart from the first
    assert "| `ditto` | **69.0** |" in lines
    assert "| `local` | 1.0 |" in lines  # the weakest two of twenty: 0 and 0.02
    assert "Made by version 1 (commits abc) in 1.5 hours." in lines


def test_spread_over_seeds_and_a_dot_for_what_is_not_told_apart():
    runs = (
        run_of(name, seed, [0.5 + 0.1 * seed, last])
        for name, last in (("ditto", 0.8), ("local", 0.81))
        for seed in (0, 1)
    )
    lines = page_of(heart=study(*runs)).splitlines()
    assert lines.index("| `local` | **68.0 ± 3.5** |") + 1 == lines.index("| `ditto` | 67.5 ± 3.5 · |")  # as registered


def test_who_has_fewer_seeds_than_others_waits_and_trials_of_tuning_are_no_result():
    runs = [run_of("a", 0, [0.1]), run_of("a", 1, [0.2]), run_of("b", 0, [0.9]), run_of("c", 1, [0.5])]
    assert best_first(study(*runs)) == ["a"]
    assert best_first(study(*runs, run_of("b", 1, [0.9], judged_on="validation"))) == ["a"]
    assert best_first(study(*runs, run_of("b", 1, [0.9]))) == ["b", "a"]

"""Which of several values was best on rows held back, from kept runs, worked by hand."""

from evidence_choices import ADVICE, CHOICES, DEFAULTS, chosen

from secure_sapefl.algorithms.registry import ALGORITHMS

NOBODY = {"command": "", "sites": {}, "runs": []}
COMMAND = "secure-sapefl compare --validation"


def page_of(name, runs):
    kept = {study: NOBODY for choice in CHOICES for study in choice.studies}
    return "\n".join(chosen(kept | {name: {"command": COMMAND, "sites": {}, "runs": runs}}))


def run_of(method, accuracy, auc, options):
    about = {"version": "1", "commit": "abc", "seconds": 1800, "judged_on": "validation", "seed": 0}
    return about | {"method": method, "main": [accuracy], "second": [auc], "settings": {"options": options}}


def test_a_choice_is_found_among_runs_that_name_all_their_options():
    usual = ALGORITHMS["ditto"].options().model_dump(mode="json")
    runs = [
        run_of("ditto", accuracy, 0.9, usual | {"strength": value})
        for value, accuracy in ((0.1, 0.1), (0.1, 0.3), (1.0, 0.6))
    ]
    lines = page_of("defaults-har", runs).splitlines()
    assert "| `ditto` | `strength=0.1` | 20.0, 90.0 |  |" in lines
    assert "| `ditto` | `strength=1.0` | 60.0, 90.0 | default |" in lines
    assert "| `ditto` | `strength=2.0` | – |  |" in lines
    assert COMMAND in lines


def test_each_choice_has_its_own_options():
    (control, *_), (plus, *_) = (
        [one for one in ADVICE.candidates() if one[0] == method] for method in ("fedavg-ft-plus", "sapefl-plus")
    )
    assert control == ("fedavg-ft-plus", "advice", 0.0)
    assert plus == ("sapefl-plus", "advice", 0.0)
    tuned = {option for _, option, _ in DEFAULTS.candidates()}
    assert {"strength", "inner_lr", "fisher_cap"} <= tuned
    assert "epochs" not in tuned  # it follows the epochs of a round


def test_a_number_that_nobody_has_is_a_dash():
    runs = [run_of("sapefl-plus", 0.5, None, {"advice": 16.0})]
    assert "| `sapefl-plus` | `advice=16.0` | 50.0, – |  |" in page_of("advice-har", runs).splitlines()


def test_without_runs_there_is_nothing_to_say():
    assert page_of("advice-har", []) == ""

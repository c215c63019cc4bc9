"""Every number of a run's page, by hand, before a template sees it."""

from secure_sapefl.report.view import facts_of, headlines_of, sites_of


def test_headlines_are_means_over_sites(make_run):
    found = {one.name: one.value for one in headlines_of(make_run())}
    assert found == {
        "Accuracy, own models": "60.0 %",
        "AUC, own models": "0.700",
        "Accuracy, global model": "53.3 %",
        "Own against global, points": "+6.7",
    }


def test_a_method_whose_sites_use_the_global_model_is_not_compared_with_it(make_run):
    same = make_run(method="fedavg", own=(0.5, 0.6), everywhere=(0.5, 0.6), auc=(0.5, 0.5), sites=("a", "b"))
    assert len(headlines_of(same)) == 2


def test_who_gained_lost_and_was_left_out(make_run, refusal):
    rows = sites_of(make_run(client_rows=[5, 6, 7], refusals=(refusal,)))
    assert [(row.name, row.rows, row.verdict, row.left_out) for row in rows] == [
        ("Anna", 5, "gained", 0),
        ("Bert", 6, "same", 2),  # once in each of two rounds
        ("Cleo", 7, "lost", 0),
    ]
    assert [row.rows for row in sites_of(make_run())] == [None] * 3


def test_facts_say_what_protected_the_run_and_name_nothing_that_is_unknown(make_run):
    facts = dict(facts_of(make_run(preparation="as given")))
    assert facts["Sites, rounds, seed"] == "3, 2, 0"
    assert facts["Protection"].startswith("ckks: updates encrypted")
    assert facts["Preparation"] == "as given"
    assert facts["Model"] == "small, 100 parameters"
    silent = dict(facts_of(make_run(method="local")))
    assert silent["Protection"] == "none needed: nothing left a site"
    assert "Preparation" not in silent


def test_characters_no_page_may_hold_are_replaced(make_run):
    assert "\x1b" not in dict(facts_of(make_run(source="\x1b[2J")))["Data"]

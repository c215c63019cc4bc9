"""Which metric a page shows, in which form, and which way is better."""

from secure_sapefl.report.shown import ACCURACY, AUC, Shown, directions, shown_of

MAE = Shown(name="mae", title="MAE", higher_is_better=False)


def test_a_summary_says_what_its_run_is_judged_by() -> None:
    facts = {"title": "MAE", "higher_is_better": False, "percent": False}
    assert shown_of({"main_metric": "mae", "metrics": {"mae": facts}}) == (MAE,)
    assert shown_of({}) == (ACCURACY, AUC), "release 0.1 said nothing of it"


def test_a_gain_is_above_zero_where_it_is_better() -> None:
    assert MAE.gain(0.2, 0.5) > 0
    assert ACCURACY.gain(0.2, 0.5) < 0
    assert MAE.oriented((1.0, 2.0)) == (-1.0, -2.0)


def test_forms() -> None:
    assert (ACCURACY.form(0.5), AUC.form(0.5), MAE.form(None)) == ("50.0 %", "0.500", "–")
    assert (ACCURACY.gain_form(-0.01), MAE.gain_form(0.25)) == ("−1.0", "+0.250")
    assert (ACCURACY.tick(0.5), MAE.tick(0.5)) == ("50 %", "0.5")
    assert (ACCURACY.heading, MAE.direction, MAE.unit_of_gain) == ("Accuracy", ", lower is better", "MAE")


def test_programs_are_told_which_way_is_better() -> None:
    error = Shown(name="mae", title="MAE", higher_is_better=False)
    assert directions((ACCURACY, error)) == {
        "accuracy": {"title": "accuracy", "higher_is_better": True},
        "mae": {"title": "MAE", "higher_is_better": False},
    }

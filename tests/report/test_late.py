"""The page shows late sites where there are any, and what they had without joining."""

from secure_sapefl.report.late import late_of
from secure_sapefl.report.page import render_page
from secure_sapefl.report.run import load_run


def spread(*values):
    return {"mean": sum(values) / len(values), "std": 0.0, "defined": len(values), "per_client": list(values)}


def scores(*values):
    return {"accuracy": spread(*values), "auc": spread(*(value / 2 for value in values))}


BLOCK = {
    "names": ["Dora", "<b>Emil</b>"],
    "rows": [1200, 40],
    "epochs": 4,
    "peers": [3, 3],
    **scores(0.875, 0.625),
    "local_only": scores(0.5, 0.75),
    "global_model": scores(0.25, 0.375),
    "global_fine_tuned": None,
    "bytes": {"up": 1.0, "down": 2.0},
    "privacy": None,
    "refused": [{"site": "Dora", "reason": "sits out."}],
}


def test_late_sites_have_a_table_of_their_own(make_folder):
    run = load_run(make_folder(late_clients=BLOCK))
    view = late_of(run)
    assert view.columns == ("Alone, as many epochs", "Global model")
    assert [(site.name, site.main, site.beside) for site in view.sites] == [
        ("Dora", 0.875, (0.5, 0.25)),
        ("<b>Emil</b>", 0.625, (0.75, 0.375)),
    ]
    page = render_page([run])
    for text in ("Sites that joined late", "87.5 %", "75.0 %", "62.5 %", "&lt;b&gt;Emil", "1,200", "Dora: sits out."):
        assert text in page
    assert "<b>Emil" not in page


def test_a_page_without_late_sites_does_not_speak_of_them(make_folder):
    run = load_run(make_folder())
    assert late_of(run) is None
    assert "joined late" not in render_page([run])

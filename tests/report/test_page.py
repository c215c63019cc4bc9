"""The page as a browser, a screen reader and an attacker would read it."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from secure_sapefl.report import view
from secure_sapefl.report.page import render_page

NAN = float("nan")
VOID = {"meta", "input", "br", "link", "img"}


@pytest.fixture
def no_drawings(monkeypatch):
    """Drawing takes most of the time; tests about words do without."""
    monkeypatch.setattr(view, "to_svg", lambda chart, prefix: "<svg></svg>")


class Page(HTMLParser):
    """Elements in order, with attributes, text and ancestors."""

    def __init__(self, html):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(html)
        assert self._open == [], "an element was left open"

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", "parents": [e["tag"] for e in self._open], **dict(attributes)}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append({"tag": tag, "text": "", "parents": [e["tag"] for e in self._open], **dict(attributes)})

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag
        self.handle_data(" ")

    def handle_data(self, text):
        for element in self._open:
            element["text"] += text

    def all(self, *tags):
        return [element for element in self.elements if element["tag"] in tags]

    def texts(self, tag):
        return [" ".join(element["text"].split()) for element in self.all(tag)]


@pytest.fixture(scope="module")
def page(make_run):
    return Page(render_page([make_run()]))


@pytest.fixture(scope="module")
def comparison(make_run):
    return Page(render_page([make_run("a", method="local"), make_run("b"), make_run("c", method="local", seed=9)]))


def test_headlines_carry_intervals(page):
    items = page.texts("li")
    assert items[0].startswith("Accuracy, own models 60.0 % ")
    assert re.search(r"\d+\.\d % to \d+\.\d %", items[0])
    assert items[1].startswith("AUC, own models 0.700 ")
    assert items[2].startswith("Accuracy, global model 53.3 % ")
    assert items[3].startswith("Own against global, points +6.7 ")


def test_sections_in_order(page):
    assert page.texts("h3") == [
        "Configuration",
        "Accuracy and AUC",
        "Sites",
        "Similarity and peers",
        "Who sees what",
        "Cost",
        "Refusals and unchanged rounds",
    ]


def test_every_site_has_its_row_with_values_to_sort_by(page):
    rows = [element for element in page.all("tr") if "data-verdict" in element]
    assert [row["data-verdict"] for row in rows] == ["gained", "same", "lost"]
    assert " ".join(rows[0]["text"].split()) == "Anna 90.0 % 0.800 50.0 % +40.0"
    values = [float(cell["data-value"]) for cell in page.all("td") if "data-value" in cell]
    assert values[:4] == pytest.approx([0.9, 0.8, 0.5, 0.4])


@pytest.mark.usefixtures("no_drawings")
def test_rows_and_refusals_appear_where_known(make_run, refusal):
    page = Page(render_page([make_run(client_rows=[5, 6789, 7], refusals=(refusal,))]))
    bert = next(row for row in page.all("tr") if row.get("data-verdict") == "same")
    assert " ".join(bert["text"].split()) == "Bert 6,789 60.0 % 0.700 60.0 % +0.0 2"
    assert "2 contributions were refused" in page.texts("summary")
    assert "a value is <b>NaN</b>" in page.texts("td")


@pytest.mark.usefixtures("no_drawings")
def test_unchanged_rounds_are_counted_from_one(make_run):
    page = Page(render_page([make_run(skipped_rounds=[0, 1])]))
    assert "The global model stayed as it was in 2 of 2 rounds: 1, 2." in page.texts("p")


@pytest.mark.usefixtures("no_drawings")
def test_the_privacy_budget_appears_where_there_is_one(make_run):
    budget = {
        "epsilon_max": 4.0,
        "delta": 1e-5,
        "score_noise": None,
        "something_new": "later",
        "epsilon_per_client": [1.5, 4.0, None],
        "notes": ["Rows count as <prepared>."],
    }
    private = Page(render_page([make_run("private", privacy=budget)]))
    assert "Privacy budget" in private.texts("h3")
    facts = dict(zip(private.texts("dt"), private.texts("dd"), strict=True))
    assert facts["Most spent by a site, ε"] == "4"
    assert facts["something new"] == "later"
    assert {"Anna 1.500", "Bert 4.000", "Cleo –"} <= set(private.texts("tr"))
    assert "Rows count as <prepared>." in private.texts("li")


@pytest.mark.usefixtures("no_drawings")
def test_private_and_other_runs_are_told_apart(make_run):
    spent = {"epsilon_max": 3.25, "epsilon_per_client": [3.25, 1.0, 2.0]}
    page = Page(render_page([make_run("a"), make_run("b", privacy=spent)]))
    rows = [text for text in page.texts("tr") if re.match(r"[ab] \d+\.\d %", text)]
    assert " ckks no budget " in rows[0]
    assert " ckks 3.250 " in rows[1]


@pytest.mark.usefixtures("no_drawings")
def test_seconds_and_bytes_by_phase(page):
    rows = page.texts("tr")
    assert "local training from the global model 4.0 s 66.7 %" in rows
    assert "encrypt encrypting, sealing and sending 1.0 s 16.7 % 1.23 kB" in rows
    assert "other between the phases 1.0 s 16.7 %" in rows


@pytest.mark.usefixtures("no_drawings")
def test_a_silent_run_says_so(make_run):
    page = Page(render_page([make_run(method="local")]))
    assert "This method trains no global model." in page.texts("p")
    assert "Similarity and peers" not in page.texts("h3")
    assert "none needed: nothing left a site" in page.texts("dd")
    assert not [e for e in page.all("input") if e["type"] == "radio"]


@pytest.mark.usefixtures("no_drawings")
def test_plaintext_is_called_plaintext(make_run):
    page = Page(render_page([make_run(protection="plaintext")]))
    assert any(text.startswith("plaintext: for research speed") for text in page.texts("dd"))


@pytest.mark.usefixtures("no_drawings")
def test_without_auc(make_run):
    page = Page(render_page([make_run(auc=(NAN, NAN, NAN))]))
    assert "AUC, own models – no site has it" in page.texts("li")
    assert "No site has an AUC: the test rows of each are of one class." in page.texts("p")


@pytest.mark.usefixtures("no_drawings")
def test_one_site_one_round(make_run):
    run = make_run(sites=("Only",), own=(0.5,), auc=(NAN,), everywhere=(0.25,), rounds=1)
    assert "Accuracy, own models 50.0 % one site, no interval" in Page(render_page([run])).texts("li")


def test_several_runs_are_compared_with_the_first(comparison):
    assert comparison.texts("h2") == ["Comparison", "a", "b", "c"]
    rows = [text for text in comparison.texts("tr") if re.match(r"[abc] \d+\.\d %", text)]
    assert "the reference" in rows[0]
    assert "+0.0+0.0 to +0.0 0, 0" in rows[1]
    assert "other rows, sites or task than the reference" in rows[2]


def test_a_name_cannot_become_markup(make_run):
    names = ("<script>alert(1)</script>", '" onmouseover="alert(1)', "</td><img src=x onerror=alert(1)>{{ 7*7 }}")
    page = Page(render_page([make_run(names[0].replace("/", ""), sites=names, source=names[1], dataset=names[2])]))
    assert len(page.all("script")) == 1
    assert not page.all("img")
    assert not [key for element in page.elements for key in element if key.startswith("on")]
    assert set(names) <= set(page.texts("th"))


def test_nothing_is_fetched(comparison):
    for element in comparison.elements:
        for key in ("src", "href", "action", "data"):
            assert element.get(key, "#").startswith(("#", "data:image/png;base64,"))
    style = comparison.all("style")[0]["text"]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_this_script_and_no_connection(page):
    policy = next(e["content"] for e in page.all("meta") if e.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-")


def test_ids_are_unique_and_links_lead_somewhere(comparison):
    ids = [element["id"] for element in comparison.elements if "id" in element]
    assert len(ids) == len(set(ids))
    targets = {element["href"][1:] for element in comparison.all("a", "use")}
    named = {i for e in comparison.elements for i in e.get("aria-labelledby", "").split()}
    assert targets | named <= set(ids)


def test_headings_skip_no_level(comparison):
    levels = [int(element["tag"][1]) for element in comparison.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_everything_has_a_name_for_those_who_cannot_see_it(comparison):
    assert all(e.get("role") == "img" and e.get("aria-label") for e in comparison.all("svg"))
    assert all("label" in e["parents"] for e in comparison.all("input"))
    assert all(e.get("scope") in ("col", "row") for e in comparison.all("th"))
    assert all(
        e.get("aria-label") and e.get("tabindex") == "0" for e in comparison.elements if e.get("role") == "region"
    )
    assert comparison.all("html")[0]["lang"] == "en"
    assert len(comparison.all("main")) == 1


def test_without_script_no_dead_control_is_shown(page):
    assert not page.all("button")
    scripted = [element for element in page.elements if element.get("class") == "scripted"]
    assert [element["tag"] for element in scripted] == ["label", "output"]
    assert all("hidden" in element for element in scripted)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_have_the_contrast_wcag_asks_for(page, theme):
    style = page.all("style")[0]["text"]
    blocks = re.findall(r":root \{([^}]*)\}", style)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[theme]))
    pairs = [(text, ground) for text in ("ink", "soft", "link") for ground in ("paper", "card")]
    pairs += [("good", "good-paper"), ("warn", "warn-paper"), ("ink", "tint")]
    for text, ground in pairs:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for i in range(1, 6):
        assert contrast(colours[f"series-{i}"], colours["paper"]) >= 3, i


@pytest.mark.usefixtures("no_drawings")
def test_the_same_run_gives_the_same_page(make_run):
    run = make_run()
    assert render_page([run]) == render_page([run])

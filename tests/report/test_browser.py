"""The page in a real browser: its script runs under its own policy, sorts and filters, fits a phone, and axe-core,
the checker behind most accessibility tools, finds nothing to object to in light and dark, wide and narrow."""

import json
import re
from html import unescape

import pytest

from secure_sapefl.report import page
from secure_sapefl.report.page import render_page
from secure_sapefl.report.run import load_run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("chromium")]
DARK = "--blink-settings=preferredColorScheme=0"


@pytest.fixture
def dom(tmp_path, make_run, browse):
    """What the page looks like after its script, and after ``extra`` script where given, has run."""

    def load(extra=None, runs=None, flags=(), **options):
        html = render_page(runs or [make_run(**options)])
        if extra is not None:  # the policy forbids foreign script, as it should: it is lifted for the test's own
            html = re.sub(r"<meta http-equiv[^>]*>", "", html)
            html = html.replace("</body>", f"<script>{extra}</script></body>")
        file = tmp_path / "page.html"
        file.write_text(html)
        return browse(file.as_uri(), *flags)

    return load


def sites(html):
    rows = re.findall(r"<tr data-verdict=[^>]*>.*?</tr>", html, re.DOTALL)
    return [re.search(r'<th scope="row">(.*?)</th>', row).group(1) for row in rows if "hidden" not in row.split(">")[0]]


def test_the_script_is_allowed_by_the_policy(dom):
    html = dom()
    assert html.count('<button type="button">') == 5
    assert '<label class="scripted">' in html  # no longer hidden


def test_foreign_script_is_not(dom):
    html = dom(sites=("<script>document.title = 'owned'</script>", "Bert", "Cleo"))
    assert "<title>owned" not in html


def test_sorting_keeps_undefined_values_last_both_ways(dom):
    click = "document.querySelectorAll('#run-1-sites th button')[2].click();"
    auc = {"auc": (0.8, float("nan"), 0.6)}
    assert sites(dom(click, **auc)) == ["Cleo", "Anna", "Bert"]


def test_sorting_down(dom):
    click = "const b = document.querySelectorAll('#run-1-sites th button')[2]; b.click(); b.click();"
    assert sites(dom(click, auc=(0.8, float("nan"), 0.6))) == ["Anna", "Cleo", "Bert"]


def test_filtering_by_name_and_by_verdict(dom):
    typed = """const tools = document.querySelector('.tools');
        tools.querySelector('[value=lost]').click();
        tools.querySelector('input').value = 'E';
        tools.dispatchEvent(new Event('input'));"""
    html = dom(typed)
    assert sites(html) == ["Bert", "Cleo"]  # by the script; by the style sheet also Bert, who did not lose
    assert "1 of 3 sites" in html


def test_without_script_it_still_filters_by_verdict(dom):
    """A frame that may not run script, and in it a click as a reader would make it."""
    click = """document.body.insertAdjacentHTML('beforeend', '<p id=left></p>');
        const frame = document.createElement('iframe');
        frame.sandbox = 'allow-same-origin';
        frame.srcdoc = document.documentElement.outerHTML;
        frame.onload = () => {
          const page = frame.contentDocument;
          page.querySelector('[value=lost]').click();
          const rows = [...page.querySelectorAll('#run-1-sites tbody tr')].filter((row) => row.getClientRects().length);
          document.getElementById('left').textContent = rows.map((row) => row.cells[0].textContent).join();
        };
        document.body.append(frame);"""
    assert '<p id="left">Cleo</p>' in dom(click)


@pytest.fixture
def complaints(axe, dom):
    """What axe-core says of the page, every rule of WCAG 2.2 A and AA and its best practices."""

    def check(**options):
        report = """axe.run().then((found) => {
            const pre = document.createElement("pre");
            pre.id = "axe";
            const short = ({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 160))];
            pre.textContent = JSON.stringify({ passes: found.passes.length, violations: found.violations.map(short) });
            document.body.append(pre);
        });"""
        html = dom(f"{axe}\n{report}".replace("</script", "<\\/script"), **options)
        result = json.loads(unescape(re.search(r'<pre id="axe">(.*?)</pre>', html, re.DOTALL).group(1)))
        assert result["passes"] > 20, "the checker hardly looked"
        return result["violations"]

    return check


@pytest.mark.parametrize("theme", [(), (DARK,)], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 500], ids=["wide", "narrow"])
def test_axe_finds_nothing(complaints, make_run, theme, width, refusal):
    spent = {"epsilon_max": 4.0, "epsilon_per_client": [1.5, 4.0, 3.0], "notes": ["A note."]}
    runs = [make_run("a", method="local"), make_run("b", privacy=spent, refusals=(refusal,))]
    assert complaints(runs=runs, flags=(*theme, f"--window-size={width},900")) == []


def test_axe_would_find_something(complaints, make_run, monkeypatch):
    """The check can fail: faint text on white is reported."""
    monkeypatch.setattr(page, "_asset", lambda _, name: "" if name.endswith("js") else "small { color: #ccc; }")
    assert "color-contrast" in dict(complaints(runs=[make_run()]))


def test_dark_mode_is_dark(dom):
    script = "document.title = getComputedStyle(document.body).backgroundColor"
    assert "<title>rgb(20, 23, 27)" in dom(script, flags=(DARK,))
    assert "<title>rgb(255, 255, 255)" in dom(script)


@pytest.fixture
def on_a_phone(dom):
    """What an expression about the document says where that is 390 pixels wide."""

    def measure(expression, **options):
        script = """document.body.insertAdjacentHTML('beforeend', '<p id=measured></p>');
            const frame = document.createElement('iframe');
            frame.style = 'border: 0; width: 390px; height: 30000px';
            frame.srcdoc = document.documentElement.outerHTML.replace(/<script>[^]*<\\/script>/g, '');
            frame.onload = () => {
              const page = frame.contentDocument, style = frame.contentWindow.getComputedStyle;
              document.getElementById('measured').textContent = EXPRESSION;
            };
            document.body.append(frame);"""
        html = dom(script.replace("EXPRESSION", expression), **options)
        return unescape(re.search(r'<p id="measured">(.*?)</p>', html, re.DOTALL).group(1))

    return measure


def test_the_page_is_not_wider_than_a_phone(on_a_phone):
    width = "`width ${page.documentElement.scrollWidth}`"
    assert on_a_phone(width, sites=("A-hospital-with-an-unbreakably-long-name-" * 3, "Bert", "Cleo")) == "width 390"


def test_every_cell_on_a_phone_has_the_label_of_its_own_table(on_a_phone, make_folder, audit_document):
    folder = make_folder()
    (folder / "audit.json").write_text(json.dumps(audit_document()))
    said = on_a_phone(
        "JSON.stringify([...page.querySelectorAll('.sights td')].map((td) => style(td, '::before').content))",
        runs=[load_run(folder)],
    )
    assert json.loads(said)[:2] == ['"The server: "', '"The other sites: "']
    assert json.loads(said)[-3:] == ['"Tell members from others: "', '"Rebuild rows: "', '"Learn about a site: "']

"""The page in a real browser: its script runs under its own policy, sorts and filters, and fits a phone."""

import re
import shutil
import subprocess

import pytest

from secure_sapefl.report.page import render_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the report was not opened in a browser"),
]
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
MORE = "--disable-component-update --disable-sync --window-size=1000,800 --dump-dom"


@pytest.fixture
def dom(tmp_path, make_run):
    """What the page looks like after its script, and after ``extra`` script where given, has run."""

    def load(extra=None, **options):
        html = render_page([make_run(**options)])
        if extra is not None:  # the policy forbids foreign script, as it should: it is lifted for the test's own
            html = re.sub(r"<meta http-equiv[^>]*>", "", html)
            html = html.replace("</body>", f"<script>{extra}</script></body>")
        page = tmp_path / "page.html"
        page.write_text(html)
        command = [CHROMIUM, *QUIET.split(), *MORE.split(), f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return load


def sites(html):
    rows = re.findall(r"<tr data-verdict=[^>]*>.*?</tr>", html, re.DOTALL)
    return [re.search(r'<th scope="row">(.*?)</th>', row).group(1) for row in rows if "hidden" not in row.split(">")[0]]


def test_the_script_is_allowed_by_the_policy(dom):
    html = dom()
    assert html.count('<button type="button">') == 5
    assert '<div class="tools" data-for="run-1-sites">' in html


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
        tools.querySelector('input').value = 'E';
        tools.querySelector('select').value = 'lost';
        tools.dispatchEvent(new Event('input'));"""
    assert sites(dom(typed)) == ["Cleo"]


def test_the_page_is_not_wider_than_a_phone(dom):
    measure = """document.body.insertAdjacentHTML('beforeend', '<p id=measured></p>');
        const frame = document.createElement('iframe');
        frame.style = 'border: 0; width: 390px; height: 30000px';
        frame.srcdoc = document.documentElement.outerHTML.replace(/<script>[^]*<\\/script>/g, '');
        frame.onload = () => {
          const width = frame.contentDocument.documentElement.scrollWidth;
          document.getElementById('measured').textContent = `width ${width}`;
        };
        document.body.append(frame);"""
    html = dom(measure, sites=("A-hospital-with-an-unbreakably-long-name-" * 3, "Bert", "Cleo"))
    assert re.search(r'<p id="measured">(.*?)</p>', html).group(1) == "width 390"

"""Static analysis is clean, and whoever excuses a line from a security rule says why."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("secure_sapefl", "crypto", "scripts", "tests", "examples")
EXCUSE = re.compile(r"#\s*noqa:\s*(?P<rules>[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)(?P<reason>.*)$")


def excuses():
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if found := EXCUSE.search(line):
                    yield f"{file.relative_to(ROOT)}:{number}", found


def test_every_security_exception_has_a_reason():
    found = [(place, excuse) for place, excuse in excuses() if re.search(r"\bS\d{3}", excuse["rules"])]
    assert found
    assert [place for place, excuse in found if len(excuse["reason"].strip(" -()")) < 8] == []


def test_no_line_is_excused_from_everything():
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            assert not re.search(r"#\s*noqa(?!:)", file.read_text(encoding="utf-8").replace("(?!:)", "")), file


def test_security_rules_are_on():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    selected = re.search(r"^select = \[(.*?)\]", text, re.MULTILINE | re.DOTALL).group(1)
    assert '"S"' in selected

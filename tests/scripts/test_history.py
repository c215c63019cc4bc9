"""What lines are for adds up to the lines there are, and no commit is in two groups or in none that exists."""

import subprocess
from pathlib import Path

import history
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Release, then a house commit of -1, a mend of +2 and a feature of +4; a text file is nobody's line."""

    def commit(**files):
        for name, text in files.items():
            file = tmp_path / "secure_sapefl" / name.replace("_", ".")
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        git("add", ".")
        title = f"Changes {', '.join(files)}"
        git("commit", "-qm", title)
        return title

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", tmp_path, *who, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    git("init", "-q")
    commit(a_py="1\n2\n3\n", b_txt="x\n")
    monkeypatch.setattr(history, "RELEASE", git("rev-parse", "HEAD").strip())
    groups = {commit(a_py="", c_py="1\n2\n"): "house", commit(c_py="1\n2\n3\n4\n"): "mend"}
    monkeypatch.setattr(history, "listed", lambda: groups)
    commit(d_py="1\n" * 4, b_txt="x\n" * 9)
    return tmp_path


def test_known_answers(repository):
    found = history.growth(repository)
    assert found == history.Growth(release=3, house=-1, mend=2, feature=4)
    assert (found.total, found.same_features) == (8, 2)


def test_where_there_is_no_history_there_is_no_answer(tmp_path, repository, monkeypatch):
    monkeypatch.setattr(history, "RELEASE", "0000000")
    assert history.growth(repository) is None


def test_our_groups_add_up_to_the_line():
    if (found := history.growth(ROOT)) is None:
        pytest.skip("this checkout has no history back to 0.1.0")
    log = history.git(ROOT, "log", "--format=%s", f"{history.RELEASE}..HEAD")
    assert set(history.listed()) <= set(log.splitlines())
    assert set(history.listed().values()) == {"house", "mend"}
    committed = history.git(ROOT, "grep", "--count", "", "HEAD", "--", *history.PLACES)
    assert found.total == sum(int(line.rpartition(":")[2]) for line in committed.splitlines())

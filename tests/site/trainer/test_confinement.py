"""What is asked for, what holds, and what lies within reach of carried code."""

import sysconfig
from pathlib import Path

import pytest

from secure_sapefl.site.trainer import confinement, landlock, seccomp
from secure_sapefl.site.trainer.confinement import MEANS, NEEDED, missing_here, within_reach
from tests.site.trainer.apart import told

PROGRAM = """
    from secure_sapefl.site.trainer import confinement, landlock, seccomp
    {without}
    print(*confinement.confine(Path(sys.argv[1]), own_user=False), sep=", ")
"""


def test_all_that_is_needed_holds_here_and_was_tried(tmp_path: Path) -> None:
    held = told(PROGRAM.format(without=""), str(tmp_path)).split(", ")
    assert set(NEEDED) <= set(held) <= set(MEANS)
    assert missing_here() == ()


@pytest.mark.parametrize(
    ("without", "lost"),
    [
        ("landlock.version = lambda: 0", {"files"}),
        ("seccomp._NAME_OF_LIBRARY = 'libnothing.so'", {"network", "processes"}),
    ],
)
def test_what_the_system_lacks_is_not_said_to_hold(tmp_path: Path, without: str, lost: set[str]) -> None:
    held = set(told(PROGRAM.format(without=without), str(tmp_path)).split(", "))
    assert not lost & held
    assert (set(NEEDED) - {"memory of others"}) - held == lost


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    monkeypatch.setattr(seccomp, "is_here", lambda: False)
    assert missing_here() == ("Landlock, in the kernel since 5.13", "libseccomp")


def test_a_folder_among_the_libraries_is_within_reach(tmp_path: Path) -> None:
    assert within_reach(tmp_path) is None
    library = Path(sysconfig.get_path("stdlib"))
    assert within_reach(library / "site") is not None
    (tmp_path / "link").symlink_to(library)
    assert within_reach(tmp_path / "link") is not None


def test_the_checkout_itself_is_not_readable_only_the_packages(tmp_path: Path) -> None:
    roots = [path.resolve() for path in confinement.readable()]
    assert Path(confinement.__file__).resolve().parents[3] not in roots

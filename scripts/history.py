"""What the lines of the packages are for, by git: today's count is release 0.1.0's and every commit's difference.

A commit since 0.1.0 belongs to one of three groups. *House* commits build the same features elsewhere or otherwise;
what they add or remove is what "more or fewer lines for the same features" asks for. *Mends* close holes: checks, a
gate, locks, digests, coins, the search for a hostile site. All others are features (`history.txt` lists the first
two). A commit that does two things counts where its title puts it; one that merges counts as what it brings. The
groups add up to the whole, to the line; a test holds them to that.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RELEASE: Final = "549b31c"  # 0.1.0
PLACES: Final = ("secure_sapefl/*.py", "crypto/sapefl_crypto/*.py")
LISTED: Final = Path(__file__).with_suffix(".txt")  # group and title: a title outlives a rebase, a digest does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Lines of 0.1.0, and how many each group of commits has added since, less what it removed."""

    release: int
    house: int
    mend: int
    feature: int

    @property
    def total(self) -> int:
        return self.release + self.house + self.mend + self.feature

    @property
    def same_features(self) -> int:
        return self.release + self.house


def growth(root: Path) -> Growth | None:
    """None without git, or where a shallow clone does not reach back to 0.1.0."""
    groups = listed()
    try:
        numbers = ("log", "--first-parent", "-m", "--numstat", "--format=commit %s")
        log = git(root, *numbers, f"{RELEASE}..HEAD", "--", *PLACES)
        grown = {"house": 0, "mend": 0, "feature": 0}
        for line in log.splitlines():
            if line.startswith("commit "):
                group = groups.get(line.removeprefix("commit "), "feature")
            elif line:
                added, removed, _ = line.split("\t")
                grown[group] += int(added) - int(removed)
        counted = git(root, "grep", "--count", "", RELEASE, "--", *PLACES)
    except (OSError, subprocess.CalledProcessError):
        return None
    return Growth(release=sum(int(line.rpartition(":")[2]) for line in counted.splitlines()), **grown)


def listed() -> dict[str, str]:
    """The group of every commit that is not a feature."""
    lines = (line.split(maxsplit=1) for line in LISTED.read_text(encoding="utf-8").splitlines())
    return {title: group for group, title in lines}


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout  # noqa: S603, S607 - git, on this very repository

"""`make reproducible`: build wheel and source archive twice, apart in every way that should not matter, and compare.

The two builds differ in folder, umask, times of files, time zone, language and hash seed. What an archive contains must
follow from the sources alone, so that anybody can rebuild a release and find the same bytes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    folder: str
    umask: int
    time: int
    environment: Mapping[str, str]


ONE = Circumstances(
    folder="a", umask=0o022, time=1_000_000_000, environment={"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}
)
OTHER = Circumstances(
    folder="somewhere else/b",
    umask=0o077,
    time=1_700_000_000,
    environment={"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"},
)


def build(sources: Path, files: list[str], epoch: int, under: Circumstances, place: Path) -> dict[str, str]:
    """The digests of the archives, built from a copy of the sources."""
    before = os.umask(under.umask)
    try:
        copy = place / under.folder
        for name in files:
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((sources / name).read_bytes())
            if os.access(sources / name, os.X_OK):
                target.chmod(target.stat().st_mode | 0o100)
            os.utime(target, (under.time, under.time))
        environment = {**os.environ, **under.environment, "SOURCE_DATE_EPOCH": str(epoch)}
        command = [sys.executable, "-m", "hatchling", "build", "--directory", "out"]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own tool
    finally:
        os.umask(before)
    if done.returncode:
        sys.exit(f"The build failed: {done.stderr.strip()[-500:]}")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((copy / "out").iterdir())}


def compare(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The archives that are missing or different, by name."""
    return [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]


def main() -> int:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        sys.exit("This needs a git checkout: what is built is what is committed or about to be.")
    files = _git("ls-files", "--cached").splitlines()
    epoch = int(_git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        one, other = (build(ROOT, files, epoch, under, Path(folder)) for under in (ONE, OTHER))
    different = compare(one, other)
    for name, digest in one.items():
        print(f"{digest}  {name}{'  DIFFERS: ' + str(other.get(name)) if name in different else ''}")
    print("Not reproducible." if different else "The same bytes, built twice under different circumstances.")
    return 1 if different else 0


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - git, our own words


if __name__ == "__main__":
    sys.exit(main())

"""`make slow`: the long tests, a file at a time, and what is known of each from last time.

    python scripts/slow.py                      every part, one after the other
    python scripts/slow.py tests/crypto         the parts below a folder, or one file
    python scripts/slow.py --stale              only parts that have not passed on this commit
    python scripts/slow.py --list               no test: each part's last result, commit and date

Results are kept in `.slow.json`, written after every part: a run that is stopped goes on with `--stale`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
RECORD: Final = ROOT / ".slow.json"
_NO_TESTS: Final = 5  # pytest's code for a selection that is empty

Results = dict[str, dict[str, Any]]


def parts(below: Sequence[str]) -> dict[str, int]:
    """Files with slow tests, and how many each has."""
    done = pytest("--collect-only", "-q", *below, quiet=True)
    if done.returncode not in (0, _NO_TESTS):
        sys.exit(f"The tests cannot be collected:\n{done.stdout}{done.stderr}")
    return dict(Counter(line.split("::")[0] for line in done.stdout.splitlines() if "::" in line))


def pytest(*arguments: str, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-m", "slow", *arguments]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=quiet, check=False)  # noqa: S603 - our own interpreter


def run(part: str, commit: str) -> dict[str, Any]:
    begun = time.monotonic()
    code = pytest(part).returncode
    return {
        "result": "passed" if code == 0 else f"failed (pytest exit {code})",
        "commit": commit,
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "seconds": round(time.monotonic() - begun),
    }


def is_stale(result: Mapping[str, Any] | None, commit: str) -> bool:
    return result is None or result["result"] != "passed" or result["commit"] != commit


def table(known: Mapping[str, int], results: Results) -> str:
    width = max(map(len, known), default=0)
    lines = []
    for part, tests in known.items():
        last = results.get(part)
        result = "never run here" if last is None else "{result}, {commit}, {date}, {seconds} s".format(**last)
        lines.append(f"{part:<{width}}  {tests:>3} tests  {result}")
    return "\n".join(lines)


def this_commit() -> str:
    """With a star where files differ from it."""
    command = ["git", "describe", "--always", "--abbrev=10", "--dirty=*", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout.strip()  # noqa: S603 - git, as written above


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("below", nargs="*", help="folders or files; all of them if none is named")
    parser.add_argument("--stale", action="store_true", help="leave out what has passed on this commit")
    parser.add_argument("--list", action="store_true", help="run nothing")
    given = parser.parse_args(arguments)
    known, commit = parts(given.below), this_commit()
    results: Results = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    chosen = [part for part in known if not given.stale or is_stale(results.get(part), commit)]
    for number, part in enumerate([] if given.list else chosen, start=1):
        print(f"--- part {number} of {len(chosen)}: {part}", flush=True)
        results[part] = run(part, commit)
        RECORD.write_text(json.dumps(results, indent=1, sort_keys=True))
    print(table(known, results))
    return int(not given.list and any(results[part]["result"] != "passed" for part in chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

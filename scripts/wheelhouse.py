"""`make wheelhouse`: everything a machine without a network needs to install secure-sapefl, in one folder.

The wheels are those of the environment this runs in: the same versions, built for the same system and Python. Beside
them lie their digests, the pins, and two scripts for the target, install.sh and uninstall.sh.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts" / "offline"
EXTRAS = "deploy,images,tables"
SUMS = "SHA256SUMS"


def wheel_command(out: Path, project: Path) -> list[str]:
    """Wheels of ours and of all that it needs, none of another version than was tested."""
    pip = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--quiet"]
    return [*pip, "--constraint", str(ROOT / "constraints.txt"), "--wheel-dir", str(out), f"{project}[{EXTRAS}]"]


def finish(out: Path) -> int:
    """Scripts and digests beside the wheels; how many files there are."""
    for script in sorted(SCRIPTS.iterdir()):
        shutil.copy2(script, out / script.name)
    shutil.copy2(ROOT / "constraints.txt", out / "constraints.txt")
    files = sorted(path for path in out.iterdir() if path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / SUMS).write_text("".join(lines), encoding="utf-8")
    return len(files)


def main(out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        sys.exit(f"{out} holds something already. Move it away, so that no old wheel is carried along.")
    out.mkdir(parents=True, exist_ok=True)
    print("Collecting wheels (the longest part is the download) ...", flush=True)
    done = subprocess.run(wheel_command(out, ROOT), check=False)  # noqa: S603 - pip, as written above
    if done.returncode:
        sys.exit("pip could not collect every wheel; what it said stands above. Nothing is ready to be carried.")
    count, size = finish(out), sum(path.stat().st_size for path in out.iterdir())
    print(f"{count} files, {size / 1e6:.0f} MB: {out}\nOn the target: sh {out.name}/install.sh /opt/secure-sapefl")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / "wheelhouse")

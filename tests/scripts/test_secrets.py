"""The pre-commit hook finds a planted key, and is content with the repository as it is."""

import shlex
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from random import Random

import pytest

yaml = pytest.importorskip("yaml")
pytest.importorskip("detect_secrets", reason="detect-secrets is not installed: the hook was not tried")

ROOT = Path(__file__).parents[2]
NOISE = b64encode(Random(0).randbytes(48)).decode()  # noqa: S311 - a secret nobody has
PLANTED = {  # put together here, so that this file holds no secret itself
    "private key": "-----BEGIN " + "EC PRIVATE KEY-----\n" + NOISE + "\n-----END EC PRIVATE KEY-----\n",
    "cloud key": 'access_key = "AKIA' + "IOSFODNN7EXAMPLE" + '"\n',
    "passphrase": 'passphrase_secret = "' + NOISE[:24] + '"\n',
    "token": 'TOKEN = "' + NOISE + '"\n',
}


@pytest.fixture(scope="module")
def hook():
    """The command of `.pre-commit-config.yaml`, with the interpreter that runs the tests."""
    configured = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (entry,) = [h["entry"] for repo in configured["repos"] for h in repo["hooks"] if h["id"] == "secrets"]
    program, *options = shlex.split(entry)
    assert program.endswith("detect-secrets-hook")

    def run(*files):
        command = [sys.executable, "-m", "detect_secrets.pre_commit_hook", *options, *map(str, files)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_key_is_found(hook, tmp_path, kind):
    file = tmp_path / "settings.py"
    file.write_text(PLANTED[kind])
    done = hook(file)
    assert done.returncode == 1
    assert "settings.py" in done.stdout
    assert NOISE[:24] not in done.stdout


def test_ordinary_code_passes(hook, tmp_path):
    file = tmp_path / "settings.py"
    file.write_text("rounds = 10\nname = 'sapefl'\npassphrase = read_passphrase(path)\n")
    assert hook(file).returncode == 0


@pytest.mark.slow
def test_the_repository_holds_no_secret(hook):
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    if not any(files):
        pytest.skip("not a git checkout: the repository was not searched for secrets")
    done = hook(*(file for file in files if file and (ROOT / file).is_file()))
    assert done.returncode == 0, done.stdout

"""What people install: a typed package whose public names are true, and a wheel with everything in it."""

import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module, util
from pathlib import Path

import pytest

import sapefl_crypto
import secure_sapefl

ROOT = Path(__file__).parents[1]
PACKAGES = {"secure_sapefl": ROOT / "secure_sapefl", "sapefl_crypto": ROOT / "crypto" / "sapefl_crypto"}


@pytest.mark.parametrize("package", [secure_sapefl, sapefl_crypto], ids=lambda package: str(package.__name__))
def test_every_public_name_is_there(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(package, name) is not None


def test_a_name_nobody_exports_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="simulat"):
        secure_sapefl.simulat  # noqa: B018
    with pytest.raises(AttributeError, match="Cohort"):
        sapefl_crypto.Cohort  # noqa: B018


def test_the_version_is_said_once() -> None:
    assert f'version = "{secure_sapefl.__version__}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("package", PACKAGES)
def test_it_is_typed(package: str) -> None:
    assert (PACKAGES[package] / "py.typed").exists()


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, secure_sapefl, sapefl_crypto; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"torch", "tenseal", "numpy", "pydantic"} & set(loaded) == set()


@pytest.mark.parametrize(
    "module",
    [
        ".".join(path.relative_to(home.parent).with_suffix("").parts)
        for home in PACKAGES.values()
        for path in sorted(home.rglob("*.py"))
        if path.name != "__main__.py"
    ],
)
def test_every_module_can_be_imported_and_says_what_it_is_for(module: str) -> None:
    loaded = import_module(module)
    empty = not Path(str(loaded.__file__)).read_text().strip()
    assert loaded.__doc__ or empty


@pytest.mark.skipif(util.find_spec("hatchling") is None, reason="hatchling is not installed here")
def test_the_wheel_holds_every_file_of_both_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wheel = tmp_path / import_module("hatchling.build").build_wheel(str(tmp_path))
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        entry_points = archive.read(next(name for name in held if name.endswith("entry_points.txt"))).decode()
    for name, home in PACKAGES.items():
        files = {path for path in home.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        assert {f"{name}/{path.relative_to(home).as_posix()}" for path in files} <= held
    assert "secure-sapefl = secure_sapefl.cli.app:main" in entry_points
    assert not any(name.startswith(("tests/", "docs/", "crypto/")) for name in held)


@pytest.mark.skipif(util.find_spec("hatchling") is None, reason="hatchling is not installed here")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout: nobody says what belongs to the project")
def test_the_source_archive_holds_all_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what tests, documentation and the security policy need: whoever has it can do what a clone can."""
    monkeypatch.chdir(ROOT)
    kept = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    with tarfile.open(tmp_path / import_module("hatchling.build").build_sdist(str(tmp_path))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {name for name in kept if (ROOT / name).exists()} <= held
    assert not any(name.startswith((".venv", "dist", "runs")) for name in held)

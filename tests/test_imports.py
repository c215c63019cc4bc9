"""The arrows of the architecture, read off the source: who may import whom."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sapefl_crypto
import secure_sapefl

PACKAGE = Path(secure_sapefl.__file__).parent
CRYPTO = Path(sapefl_crypto.__file__).parent
FILES = sorted((*PACKAGE.rglob("*.py"), *CRYPTO.rglob("*.py")))
HEAVY = ("torch", "tenseal", "opacus", "flwr", "matplotlib")

ROOMS = ("secure_sapefl.study", "secure_sapefl.site", "secure_sapefl.coordinator", "secure_sapefl.transport")
OWN_CODE = ("secure_sapefl.plugins", "secure_sapefl.algorithms.own", "secure_sapefl.conformance")
FORBIDDEN = {  # folder or module: what it must not import, however deep inside a function
    "sapefl_crypto": {"secure_sapefl", "torch"},
    "secure_sapefl.data": {
        "torch",
        "secure_sapefl.algorithms",
        "secure_sapefl.engine",
        "secure_sapefl.protocol",
        "secure_sapefl.sape",
        "secure_sapefl.training",
    },
    "secure_sapefl.sape": {"secure_sapefl.protocol", "secure_sapefl.engine", "secure_sapefl.algorithms"},
    "secure_sapefl.models": {
        "secure_sapefl.data",
        "secure_sapefl.sape",
        "secure_sapefl.training",
        "secure_sapefl.privacy",
        "secure_sapefl.protocol",
        "secure_sapefl.engine",
        "secure_sapefl.algorithms",
        *ROOMS,
    },
    "secure_sapefl.training": {
        "secure_sapefl.sape",
        "secure_sapefl.protocol",
        "secure_sapefl.engine",
        "secure_sapefl.algorithms",
    },
    "secure_sapefl.algorithms": {
        "secure_sapefl.protocol",
        "secure_sapefl.engine",
        "secure_sapefl.privacy",
        "sapefl_crypto",
    },
    "secure_sapefl.privacy": {"secure_sapefl.engine", "secure_sapefl.data", "sapefl_crypto"},
    "secure_sapefl.protocol": {"secure_sapefl.engine", "secure_sapefl.data", "secure_sapefl.privacy", *ROOMS},
    "secure_sapefl.storage": {"torch", "secure_sapefl.protocol", "secure_sapefl.engine", *ROOMS},
    "secure_sapefl.study": {"secure_sapefl.site", "secure_sapefl.coordinator", "secure_sapefl.transport", *OWN_CODE},
    "secure_sapefl.coordinator": {"secure_sapefl.site", *OWN_CODE},
    "secure_sapefl.site": {"secure_sapefl.coordinator", *OWN_CODE},
    "secure_sapefl.transport": {"secure_sapefl.study", "secure_sapefl.site", "secure_sapefl.coordinator", *OWN_CODE},
    "secure_sapefl.audit": {
        "secure_sapefl.cli",
        *ROOMS,
        "secure_sapefl.experiments",
        "secure_sapefl.report",
    },
    "secure_sapefl.engine": {
        "secure_sapefl.audit",
        "secure_sapefl.cli",
        *ROOMS,
        "secure_sapefl.experiments",
        "secure_sapefl.report",
    },
}
ALLOWED = {
    "secure_sapefl.data.torchvision_sets": {"torch"},  # torchvision's datasets do not import without it
}
ONLY_IN = {  # a dependency: the folders that may name it
    "tenseal": ("sapefl_crypto",),
    "cryptography": ("sapefl_crypto",),
    "typer": ("secure_sapefl.cli",),
    "rich": ("secure_sapefl.cli",),
    "opacus": ("secure_sapefl.privacy", "secure_sapefl.models.sequences"),
    "flwr": ("secure_sapefl.transport",),
    "prometheus_client": ("secure_sapefl.transport",),
    "httpx": ("secure_sapefl.transport",),
    "uvicorn": ("secure_sapefl.transport",),
    "ray": (),  # imported by its name, where it is installed
    "tensorboard": (),  # torch's writer imports it
    "IPython": ("secure_sapefl.engine.observers.notebook",),
    "pandas": ("secure_sapefl.engine.result", "secure_sapefl.engine.observers.result_tables"),
}

RUNS_CARRIED_CODE = {  # a module, and who alone may import it: the code's author, and a trainer's process
    "secure_sapefl.study.built": {"secure_sapefl.study.new", "secure_sapefl.site.trainer.served"},
    "secure_sapefl.site.trainer.served": {"secure_sapefl.site.trainer.worker"},
    "secure_sapefl.site.trainer.worker": set(),
}


def module_name(file: Path) -> str:
    root = PACKAGE if file.is_relative_to(PACKAGE) else CRYPTO
    return ".".join((root.name, *file.relative_to(root).with_suffix("").parts))


def imported(source: str) -> Iterator[str]:
    """Every module a source names in an import, with ``from a import b`` as both ``a`` and ``a.b``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test can read them"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inside(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder + ".")


@pytest.mark.parametrize("file", FILES, ids=module_name)
def test_imports_follow_the_arrows(file: Path) -> None:
    name, names = module_name(file), set(imported(file.read_text(encoding="utf-8")))
    for folder, forbidden in FORBIDDEN.items():
        if inside(name, folder):
            bad = {found for found in names for target in forbidden if inside(found, target)}
            assert bad <= ALLOWED.get(name, set())
    for dependency, homes in ONLY_IN.items():
        if not any(inside(name, home) for home in homes):
            assert not {found for found in names if inside(found, dependency)}


@pytest.mark.parametrize("runner", RUNS_CARRIED_CODE)
def test_carried_code_is_run_by_its_author_and_in_a_trainers_process_alone(runner: str) -> None:
    importers = {module_name(file) for file in FILES if runner in set(imported(file.read_text(encoding="utf-8")))}
    assert importers == RUNS_CARRIED_CODE[runner]


def test_the_walk_sees_all_kinds_of_imports() -> None:
    source = "import a.b\nfrom c import d\ndef f():\n    from secure_sapefl import engine\n"
    assert set(imported(source)) == {"a.b", "c", "c.d", "secure_sapefl", "secure_sapefl.engine"}


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["secure-sapefl", *{arguments!r}]
from secure_sapefl.cli.app import main
try:
    main()
except SystemExit as exit:
    assert not exit.code
loaded = [name for name in {HEAVY!r} if name in sys.modules]
sys.exit(f"imported {{loaded}}" if loaded else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

"""What docs/reference/python.md promises holds for all it names: a path may be a string."""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl import Config, resume, simulate
from secure_sapefl.engine.published import PublishedModel, release_run
from secure_sapefl.errors import BadInput
from secure_sapefl.report.run_report import write_model_card, write_page, write_report

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
NAMES = re.findall(r"^::: (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def found(name: str) -> Any:
    """The module, or what stands in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            return reduce(getattr, parts[length:], import_module(".".join(parts[:length])))
        except ModuleNotFoundError:
            continue
    raise AssertionError(name)


def functions(documented: Any) -> Iterator[Callable[..., Any]]:
    if inspect.isfunction(documented):
        yield documented
    elif inspect.isclass(documented):
        yield documented.__init__
        own = (member for name, member in inspect.getmembers(documented) if not name.startswith("_"))
        yield from (member for member in own if inspect.isroutine(member))


@pytest.mark.parametrize("name", NAMES)
def test_every_path_may_be_a_string(name: str) -> None:
    for function in functions(found(name)):
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # of C
            continue
        for parameter in parameters:
            said = str(parameter.annotation)
            assert "Path" not in said or "str" in said, f"{function.__qualname__}: {parameter}"


def test_a_study_by_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text("clients = 3\nrounds = 1\nrows = 200\nlocal_epochs = 1\nworkers = 0\n")
    config = Config.load("study.toml")
    result = simulate(config, "run")
    assert resume("run").accuracy == result.accuracy
    result.export(result.facts["client_names"][0], "own/model.safetensors")
    with pytest.raises(BadInput, match="missing"):
        write_report("missing")
    write_page(["run"], "pages/run.html")
    write_model_card("run", "pages/run.md")
    with pytest.warns(UserWarning, match="without differential privacy"):
        release_run("run", "pages/model.npz")
    assert PublishedModel.read("pages/model.npz").about["method"] == "sapefl"
    assert {path.name for path in Path("pages").iterdir()} == {"run.html", "run.md", "model.npz"}
    ledgers = Config(clients=2, data_dir="data", dp_ledgers="ledgers", init="weights.pt", data_schema="schema.toml")
    assert (ledgers.data_dir, ledgers.init) == (Path("data"), Path("weights.pt"))

"""Every format a table comes in, through every command that takes one: the same records arrive, whatever the file.

Commands run as a user types them, up to where the table has become rows of sites (or counts, or a schema). What comes
behind that, the engine's work, is the same for all formats and tried elsewhere.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.audit import audit as audits
from secure_sapefl.data import Federation
from secure_sapefl.data.tables.schema import load_schema
from secure_sapefl.engine import assembly, simulator
from secure_sapefl.engine.counting import table_one
from secure_sapefl.engine.counting.sums import summed
from secure_sapefl.experiments import cells
from secure_sapefl.study.file import signed_text
from tests.cli.conftest import Answer
from tests.small_study import COORDINATOR, make_study, study_values

__all__ = ["make_study", "study_values"]
Cli = Callable[..., Answer]
ROWS = 48
FRAME = pd.DataFrame(
    {
        "Alter": np.arange(ROWS) * 1.25 + 20,
        "Größe": [None if k % 12 == 5 else round(1.5 + k / 100, 2) for k in range(ROWS)],
        "Geschlecht": [["weiblich", "männlich", "divers"][k * 7 % 3] for k in range(ROWS)],
        "Raucher": [["nein", "ja"][k * 5 % 7 < 3] for k in range(ROWS)],
        "Aufnahme": [f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(ROWS)],
        "Klinik": [["Köln", "Nîmes", "Århus"][k % 3] for k in range(ROWS)],
        "krank": [["nein", "ja"][k * 11 % 13 < 6] for k in range(ROWS)],
    }
)
FEATURES = list(FRAME.columns[:5])


def _archive(path: Path) -> None:
    cells = FRAME[FEATURES].astype(object).where(FRAME[FEATURES].notna(), "")
    arrays = {name: FRAME[column].to_numpy(str) for name, column in (("y", "krank"), ("group", "Klinik"))}
    np.savez(path, X=cells.to_numpy().astype(str), feature_names=np.array(FEATURES), **arrays)


def _text(separator: str, encoding: str, decimal: str = ".") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        FRAME.to_csv(path, index=False, sep=separator, encoding=encoding, decimal=decimal)

    return write


FORMATS: dict[str, Callable[[Path], None]] = {
    "commas.csv": _text(",", "utf-8"),
    "semicolons.csv": _text(";", "utf-8-sig", ","),
    "latin.csv": _text(";", "latin-1", ","),
    "wide.csv": _text("\t", "utf-16"),
    "tabs.tsv": _text("\t", "utf-8"),
    "bars.txt": _text("|", "utf-8"),
    "table.parquet": lambda path: FRAME.to_parquet(path),
    "book.xlsx": lambda path: FRAME.to_excel(path, index=False),
    "arrays.npz": _archive,
}


class Arrived(BaseException):  # no error of ours: nothing on the way may catch it
    """A table has become rows of sites."""

    def __init__(self, federation: Federation) -> None:
        self.federation = federation


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file once, and the schema of all."""
    folder = tmp_path_factory.mktemp("tables")
    for name, write in FORMATS.items():
        write(folder / name)
    return folder


@pytest.fixture
def tables(made: Path, cli: Cli, tmp_path: Path) -> Path:
    """The same in the folder the commands are typed in; the schema is the one proposed from commas.csv."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    asked = ("--label", "krank", "--site", "Klinik", "--out", "schema.toml")
    assert cli("data", "schema", "commas.csv", *asked).code == 0
    return tmp_path


@pytest.fixture
def arriving(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Federation]:
    """Run something until its table has become rows of sites."""
    real = assembly.federation_of

    def stop(*arguments: Any, **named: Any) -> Federation:
        raise Arrived(real(*arguments, **named))

    for room in (assembly, cells, simulator):
        monkeypatch.setattr(room, "federation_of", stop)

    def until(run: Callable[[], object]) -> Federation:
        with pytest.raises(Arrived) as stopped:
            run()
        return stopped.value.federation

    return until


def rows(federation: Federation) -> list[list[float]]:
    """Of every site, training rows first; labels beside them."""
    parts = [(one.train, one.test) for one in federation.clients]
    return [np.concatenate([np.c_[part.X, part.y] for part in site]).round(5).tolist() for site in parts]


COMMANDS = {
    "simulate": ("simulate", "--protection", "plaintext", "--data-schema", "schema.toml", "--dataset"),
    "rehearsal": ("simulate", "--protection", "plaintext", "--data-schema", "study.toml", "--dataset"),
    "compare": ("compare", "--methods", "fedavg", "--seeds", "1", "--jobs", "1", "--data-schema", "schema.toml",
                "--dataset"),
    "budget": ("budget", "--methods", "fedavg", "--epsilons", "8", "--seeds", "1", "--jobs", "1", "--data-schema",
               "schema.toml", "--dataset"),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_format_gives_the_same_rows(
    command: str, tables: Path, cli: Cli, arriving: Callable[..., Federation], make_study: Callable[..., Any]
) -> None:
    data = load_schema(tables / "schema.toml").model_dump(mode="json", exclude_none=True)
    (tables / "study.toml").write_text(signed_text(make_study(data=data), COORDINATOR), encoding="utf-8")
    found = {name: rows(arriving(lambda file=name: cli(*COMMANDS[command], file))) for name in FORMATS}
    assert sum(map(len, found["commas.csv"])) == ROWS
    assert [name for name in found if found[name] != found["commas.csv"]] == []


def test_a_frame_gives_them_too(tables: Path, cli: Cli, arriving: Callable[..., Federation]) -> None:
    by_file = arriving(lambda: cli(*COMMANDS["simulate"], "commas.csv"))
    config = Config(dataset="mine", data_schema=tables / "schema.toml", protection="plaintext")
    assert rows(arriving(lambda: simulate(config, table=FRAME))) == rows(by_file)


def test_an_audit_knows_its_run_again_in_every_format(tables: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run was of one file. Audited with another in its place, it must find the same rows, or refuse."""
    config = Config(
        dataset="commas.csv", data_schema=tables / "schema.toml", protection="plaintext", method="fedavg",
        model="linear", rounds=1, local_epochs=1, workers=0,
    )  # fmt: skip
    simulate(config, out="run")
    told = Path("run/config.toml").read_text(encoding="utf-8")

    def stop(_: Config, federation: Federation) -> None:
        raise Arrived(federation)

    monkeypatch.setattr(audits, "assemble", stop)
    for name in FORMATS:
        Path("run/config.toml").write_text(told.replace("commas.csv", name), encoding="utf-8")
        with pytest.raises(Arrived):
            cli("audit", "run", "--quiet")
    other = FRAME.assign(Alter=FRAME["Alter"].to_numpy()[::-1])
    other.to_csv("arrays.csv", index=False)
    Path("run/config.toml").write_text(told.replace("commas.csv", "arrays.csv"), encoding="utf-8")
    assert cli("audit", "run", "--quiet").code == 2


def test_every_format_is_checked_alike(tables: Path, cli: Cli) -> None:
    def checked(name: str) -> dict[str, Any]:
        answer = cli("data", "check", name, "--data-schema", "schema.toml", "--format", "json")
        return {key: value for key, value in json.loads(answer.out).items() if key not in ("dataset", "source")}

    found = {name: checked(name) for name in FORMATS}
    assert [one["name"] for one in found["commas.csv"]["clients"]] == ["Köln", "Nîmes", "Århus"]
    assert [name for name in found if found[name] != found["commas.csv"]] == []


def test_every_format_has_the_same_schema_and_fits_it(tables: Path, cli: Cli) -> None:
    reference = load_schema(tables / "schema.toml")
    for name in FORMATS:
        roles = ("--site", "group") if name == "arrays.npz" else ("--label", "krank", "--site", "Klinik")
        assert cli("data", "schema", name, *roles, "--out", f"{name}.toml").code == 0
        found = load_schema(tables / f"{name}.toml")
        assert (found.features, found.classes) == (reference.features, reference.classes), name
        fits = cli("site", "check-data", "schema.toml", "--data", name)
        assert (fits.code, fits.out.count("look at it: Column 'Klinik': records of 3 sites")) == (0, 1), name
        assert "does not fit" not in fits.out, name


def test_every_format_has_the_same_table_one(tables: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_one, "summed", lambda counts, study, _: summed(counts, study, "plaintext"))

    def lines(name: str) -> Any:
        answer = cli("statistics", name, "--data-schema", "schema.toml", "--format", "json")
        return json.loads(answer.out)["lines"]

    found = {name: lines(name) for name in FORMATS}
    assert found["commas.csv"][0]["values"]["all"] == ROWS
    assert [name for name in found if found[name] != found["commas.csv"]] == []

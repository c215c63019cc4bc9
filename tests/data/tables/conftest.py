"""A table as hospitals have them: semicolons, umlauts, every kind of column, gaps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.data.tables.columns import Columns

HEADER = ["Fall-Nr", "Patient", "Klinik", "Alter", "Größe", "Geschlecht", "Raucher", "Aufnahme", "krank"]


def records(count: int = 60) -> list[list[str]]:
    """Persons come twice; every ninth height is missing."""
    rng = np.random.default_rng(1)
    rows = []
    for k in range(count):
        height = "" if k % 9 == 4 else f"{rng.uniform(1.5, 2):.2f}".replace(".", ",")
        day = f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.20{rng.integers(10, 24)}"
        kinds = ["männlich", "weiblich", "divers"]
        rows.append(
            [
                f"F{k:04d}",
                f"P{k // 2}",
                ["München", "Köln", "Århus", "Łódź"][k // 2 % 4],
                str(rng.integers(20, 90)),
                height,
                kinds[rng.integers(3)],
                ["ja", "nein"][rng.integers(2)],
                day,
                ["nein", "ja"][rng.integers(2)],
            ]
        )
    return rows


def columns_with(rows: list[list[str]]) -> Columns:
    cells = dict(zip(HEADER, (list(column) for column in zip(*rows, strict=True)), strict=True))
    cells["Größe"] = [cell.replace(",", ".") for cell in cells["Größe"]]
    return Columns(source="klinik.csv", unit="line", cells=dict(cells))


@pytest.fixture
def mixed() -> Columns:
    return columns_with(records())


@pytest.fixture
def mixed_file(tmp_path: Path) -> Callable[..., Path]:
    def write(without: int | None = None) -> Path:
        rows = [row for number, row in enumerate(records()) if number != without]
        path = tmp_path / "klinik.csv"
        path.write_text("\n".join(";".join(row) for row in [HEADER, *rows]) + "\n", encoding="utf-8")
        return path

    return write

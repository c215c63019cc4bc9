"""Folders of images with a label table: read, divided, refused by name."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.data.folders.labelled import (
    Roles,
    folder_table,
    label_table,
    new_pictures,
    own_folder,
    problems,
    proposed,
)
from secure_sapefl.data.tables.schema import schema_text
from secure_sapefl.errors import BadInput

ROLES = Roles(label="diagnosis", site="clinic", person="patient")
Folder = Callable[..., Path]


def test_a_folder_is_a_table_of_images(folder: Folder) -> None:
    made = folder()
    schema = proposed(made, label_table(made), ROLES)
    assert (schema.shape, schema.classes) == ((1, 8, 8), ("ill", "well"))
    table = folder_table(made, schema)
    assert (table.X.shape, table.X.dtype) == ((24, 8, 8), np.uint8)
    assert table.group_names == ("a", "b")
    assert table.segment is not None
    assert len(np.unique(table.segment)) == 12
    bright = table.X.mean((1, 2)) > 125
    assert np.array_equal(bright, table.y == 0)  # PNG and DICOM on the same scale


def test_it_is_simulated_with_its_schema_and_without(folder: Folder, tmp_path: Path) -> None:
    made = folder()
    (tmp_path / "images.toml").write_text(schema_text(proposed(made, label_table(made), ROLES)))
    settings = {"dataset": str(made), "model": "linear", "rounds": 1, "protection": "plaintext", "method": "fedavg"}
    for more in ({"label": "diagnosis", "group": "clinic"}, {"data_schema": tmp_path / "images.toml"}):
        result = simulate(Config(**settings, **more))  # type: ignore[arg-type]
        assert result.summary()["preparation"] == "pixels from -1 to 1"
        assert result.summary()["clients"] == 2
    with pytest.raises(BadInput, match="is for a table"):
        simulate(Config(**settings, label="diagnosis", preparation="common"))  # type: ignore[arg-type]


def test_what_keeps_a_folder_out_is_said_all_at_once(folder: Folder) -> None:
    made = folder()
    schema = proposed(made, label_table(made), ROLES)
    (made / "1.png").write_bytes(b"broken")
    (made / "2.png").unlink()
    text = (made / "labels.csv").read_text().replace("4.png,ill", "4.png,perhaps")
    (made / "labels.csv").write_text(text + "../secret.png,ill,a,p99\n")
    said = " ".join(f"{column}: {words}" for column, words in problems(made, schema))
    for words in ("1 values are no class", "1.png cannot be read", "no such file", "not a file inside the folder"):
        assert words in said
    with pytest.raises(BadInput, match=r"1\.png"):
        folder_table(made, schema)


def test_new_images_need_no_labels_and_a_bad_one_is_one_bad_one(folder: Folder, tmp_path: Path) -> None:
    made = folder()
    schema = proposed(made, label_table(made), ROLES)
    (made / "labels.csv").unlink()
    (made / "1.png").write_bytes(b"broken")
    images, names, bad = new_pictures(made, schema)
    why = "1.png cannot be read as an image. Convert it to PNG, or take it out of the table"
    assert (len(images), len(names), bad) == (23, 23, (("1.png", why),))
    with pytest.raises(BadInput, match=r"labels\.csv; found: none"):
        label_table(made)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no image"):
        new_pictures(tmp_path / "empty", schema)


def test_the_same_image_at_two_sites_is_found(folder: Folder) -> None:
    made = folder()
    found = own_folder(made, None, ROLES, private=False).findings
    assert [one.name for one in found] == ["few:clinic", "few:clinic"]
    columns = label_table(made)
    files, clinics = columns.cells["file"], columns.cells["clinic"]
    pairs = list(zip(*([f for f, c in zip(files, clinics, strict=True) if c == site] for site in "ab"), strict=True))
    text = (made / "labels.csv").read_text()
    for first, second in pairs[:3]:
        text = text.replace(f"\n{second},", f"\n{first},")
    (made / "labels.csv").write_text(text)
    shared = next(one for one in own_folder(made, None, ROLES, private=False).findings if one.kind == "shared")
    assert (shared.name, shared.dangerous) == ("shared:clinic", True)
    assert own_folder(made, None, ROLES, private=True).findings == ()

"""Four hospitals' files as UCI publishes them: what they recorded, and what they did not."""

import hashlib

import numpy as np
import pytest

from secure_sapefl.data import build_federation, private_options
from secure_sapefl.data.datasets import heart
from secure_sapefl.errors import DataUnavailable


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


@pytest.fixture
def official_heart(site, monkeypatch):
    rows = {
        "Cleveland": "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n" * 4,
        "Hungarian": "28,1,2,130,132,0,2,185,0,0,?,?,?,0\n" * 4,
        "Switzerland": "32,1,1,95,0,?,0,127,0,.7,1,?,?,1\n" * 4,
        "VA_Long_Beach": "63,1,4,140,260,0,1,112,1,3,2,?,?,2\n" * 4,
    }
    files = {}
    for hospital, (file, _) in heart.HOSPITALS.items():
        site.files[f"/{file}"] = rows[hospital].encode()
        files[hospital] = (file, md5(rows[hospital].encode()))
    monkeypatch.setattr(heart, "BASE", site.url)
    monkeypatch.setattr(heart, "HOSPITALS", files)
    return site


def test_heart_reads_the_four_files_and_their_question_marks(official_heart, fetched):
    arrays = fetched("heart")
    assert arrays["hospital"].tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert arrays["num"].tolist()[::4] == [0, 0, 1, 2]
    assert arrays["y"].tolist()[::4] == [0, 0, 1, 1]
    assert np.isnan(arrays["X"][4, 10:]).all()
    assert arrays["X"][0, 9] == np.float32(2.3)


def test_cholesterol_zero_is_not_a_measurement(official_heart, fetched):
    table = heart.SPEC.origin.table(fetched("heart"), heart.SPEC.options)
    cholesterol = table.X[:, heart.FEATURES.index("chol")]
    assert np.isnan(cholesterol).tolist() == [False] * 8 + [True] * 4 + [False] * 4


ARGUMENTS = {"clients": None, "partition": None, "kappa": 0.3, "seed": 0}


def test_a_fetched_dataset_comes_before_the_one_that_ships_and_is_not_fetched_twice(official_heart, fetched):
    fetched("heart")
    federation = build_federation("heart", **ARGUMENTS)
    assert federation.source == "heart_disease.npz, 16 rows"
    assert [client.name for client in federation.clients] == list(heart.HOSPITALS)
    assert len(official_heart.ranges) == 4


def test_the_table_that_ships_needs_neither_network_nor_folder(official_heart):
    federation = build_federation("heart", **ARGUMENTS)
    assert official_heart.ranges == []
    assert federation.source == "heart_disease_4hospitals.npz, 920 rows"
    assert federation.class_counts()[:, 1].tolist() == [139, 106, 115, 149]


def test_the_table_that_ships_is_the_published_one_and_names_its_donors():
    """The digest of the table whose four parts have the MD5 sums of the published files."""
    digest = hashlib.sha256(heart.SHIPPED.read_bytes()).hexdigest()
    assert digest == "087a12701fda39bf32799736cbdf8fecfa2d6e71b9f05b8a106cf545eafec33c"
    beside = heart.SHIPPED.with_suffix(".txt").read_text(encoding="utf-8")
    for words in ("Janosi", "Steinbrunn", "Pfisterer", "Detrano", "CC BY 4.0"):
        assert words in beside


def test_a_wrong_checksum_says_what_to_do_and_leaves_no_dataset(official_heart, private_cache, monkeypatch, fetched):
    monkeypatch.setattr("secure_sapefl.data.fetch.FIRST_PAUSE", 0.0)
    official_heart.files["/processed.va.data"] += b"63,1,4,140,260,0,1,112,1,3,2,?,?,2\n"
    with pytest.raises(DataUnavailable, match=r"expected md5:.*secure-sapefl data fetch heart.*--data-dir"):
        fetched("heart")
    assert not list(private_cache.glob("*.npz"))


def test_hospitals_have_their_patients_and_unrecorded_cholesterol_is_neutral():
    federation = build_federation("heart", **ARGUMENTS)
    assert [client.name for client in federation.clients] == ["Cleveland", "Hungarian", "Switzerland", "VA_Long_Beach"]
    assert federation.class_counts()[:, 1].tolist() == [139, 106, 115, 149]
    cholesterol = 4
    switzerland, cleveland = federation.clients[2], federation.clients[0]
    assert (switzerland.train.X[:, cholesterol] == 0).all()
    assert cleveland.train.X[:, cholesterol].std() == pytest.approx(1.0, abs=1e-3)


def test_private_studies_of_hearts_use_clinical_ranges() -> None:
    assert private_options("heart") == {"standardise": "public"}
    assert private_options("synthetic") == {}
    assert private_options("mine.csv") == {}
    for name, column in heart.PUBLIC.items():
        assert column.low <= column.typical <= column.high, name

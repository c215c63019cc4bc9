"""A configuration survives its file, and a mistake in one is named."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import field_validator

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.sapefl import SapeOptions
from secure_sapefl.config import Config, Settings
from secure_sapefl.errors import BadInput

names = st.text(min_size=1, max_size=20).filter(str.strip)
positive = st.floats(0, 1e300, exclude_min=True)
counts = st.integers(1, 10**9)
values = st.one_of(
    st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
tables = st.dictionaries(st.text(max_size=8), values, max_size=4)
configs = st.builds(
    Config,
    dataset=names,
    method=names,
    clients=st.none() | counts,
    rounds=counts,
    participation=st.floats(0, 1, exclude_min=True),
    partition=st.sampled_from([None, "natural", "dirichlet", "iid"]),
    kappa=positive,
    seed=st.integers(0, 2**62),
    lr=positive,
    model=st.sampled_from(["small", "paper"]),
    protection=st.sampled_from(["ckks", "plaintext"]),
    device=st.sampled_from(["auto", "cpu", "cuda", "cuda:1"]),
    peers_per_client=st.none() | counts,
    workers=st.none() | st.integers(0, 64),
    data_dir=st.none() | st.just(Path("some where") / "ünïcode"),
    label=st.none() | st.text(),
    options=tables,
    data_options=tables,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config")


@given(config=configs)
@settings(deadline=None, max_examples=100)
def test_a_toml_file_gives_back_what_it_was_given(folder: Path, config: Config) -> None:
    file = folder / "config.toml"
    file.write_bytes(config.to_toml().encode())
    assert Config.load(file) == config


def test_keys_left_out_keep_their_defaults(tmp_path: Path) -> None:
    file = tmp_path / "short.toml"
    file.write_text('method = "fedavg"\n[options]\n', encoding="utf-8")
    assert Config.load(file) == Config(method="fedavg")


def test_none_among_options_means_left_out() -> None:
    config = Config(options={"personal_epochs": None, "influence": 0.25})
    assert config.options == {"influence": 0.25}
    assert "influence = 0.25" in config.to_toml()


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().rounds = 3


@pytest.mark.parametrize(
    ("typed", "meant"), [("participaton", "participation"), ("round", "rounds"), ("local_epoch", "local_epochs")]
)
def test_an_unknown_key_gets_the_nearest_one(typed: str, meant: str) -> None:
    with pytest.raises(BadInput, match=f"the file: unknown key '{typed}'. Did you mean '{meant}'"):
        Config.read({typed: 1}, "the file")


def test_a_key_like_no_other_gets_the_list() -> None:
    with pytest.raises(BadInput, match=r"unknown key 'zzzz'\. Known: .*participation.*rounds"):
        Config.read({"zzzz": 1}, "the file")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("participation", 0),
        ("participation", 1.01),
        ("participation", float("nan")),
        ("kappa", 0),
        ("kappa", -1),
        ("kappa", float("inf")),
        ("lr", 0),
        ("lr", float("nan")),
        ("rounds", 0),
        ("rounds", 2.5),
        ("rounds", "many"),
        ("clients", 0),
        ("seed", -1),
        ("batch_size", 0),
        ("local_epochs", 0),
        ("group_size", 0),
        ("peers_per_client", 0),
        ("workers", -1),
        ("partition", "random"),
        ("protection", "none"),
        ("engine", "fast"),
        ("device", "gpu"),
        ("device", "cuda:"),
        ("device", "cuda:٣"),
        ("device", "cuda:999999999999"),
        ("device", "cuda:0\n"),
        ("dataset", "  "),
        ("method", ""),
        ("dp_clip", 1e300),
        ("dp_clip", 1e-300),
        ("options", 5),
        ("options", {"influence": float("nan")}),
        ("data_options", {"flip_y": float("inf")}),
    ],
)
def test_a_bad_value_is_named(key: str, value: Any) -> None:
    with pytest.raises(BadInput) as error:
        Config.read({key: value}, "the command line")
    assert str(error.value).startswith(f"the command line: {key} = ")
    assert "is not possible" in str(error.value)


@pytest.mark.parametrize("content", [b"rounds = ", b"rounds = 1\nrounds = 2", b"\xff\xfe", b"[rounds"])
def test_a_file_that_is_not_toml_is_answered_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(BadInput, match=r"bad\.toml"):
        Config.load(file)


@pytest.mark.parametrize("name", ["absent.toml", "."])
def test_a_file_that_cannot_be_read_is_answered_in_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"Cannot read .*Check the path"):
        Config.load(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("lr = " + "[" * 5000 + "]" * 5000, "is not valid TOML"),
        ("rounds = " + "9" * 5000, "is not valid TOML"),
        ("# " + "x" * (16 << 20), "has more than 16 MiB"),
    ],
    ids=["nested", "digits", "long"],
)
def test_a_file_made_to_exhaust_its_reader_is_a_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "study.toml").write_text(content)
    with pytest.raises(BadInput, match=sentence):
        Config.load(tmp_path / "study.toml")


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_every_methods_defaults_survive_a_config_file(tmp_path: Path, algorithm: Any) -> None:
    config = Config(method=algorithm.name, options=algorithm.options().model_dump(mode="json"))
    file = tmp_path / "config.toml"
    file.write_text(config.to_toml(), encoding="utf-8")
    assert algorithm.options.read(Config.load(file).options, "options") == algorithm.options()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("influence", 1.5),
        ("influence", float("nan")),
        ("similarity_threshold", -0.1),
        ("anchor_strength", -1),
        ("anchor_strength", float("inf")),
        ("anchoring", "euclid"),
        ("output_form", "flat"),
        ("similarity_batch", 0),
        ("personal_epochs", 0),
    ],
)
def test_bad_options_of_sapefl_are_named(key: str, value: Any) -> None:
    with pytest.raises(BadInput, match=f"options of sapefl: {key} = "):
        SapeOptions.read({key: value}, "options of sapefl")


def test_the_papers_letter_for_influence_is_not_a_key() -> None:
    with pytest.raises(BadInput, match="unknown key 'delta'"):
        SapeOptions.read({"delta": 0.5}, "options of sapefl")


def test_python_hears_the_same_sentence_as_the_command_line() -> None:
    with pytest.raises(BadInput, match="unknown key 'datset'"):
        Config(datset="har")  # type: ignore[call-arg]
    with pytest.raises(BadInput, match="a device is auto, cpu, cuda or"):
        Config(device="gpu")


def test_a_value_without_default_that_is_missing_is_named_without_quoting_the_rest() -> None:
    class Needs(Settings):
        name: str

    with pytest.raises(BadInput, match=r"^file: 'name' is missing, and has no default\. Add it\.$"):
        Needs.read({}, "file")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"colluders": 0}, r"colluders = 0 is not possible: give 1 or more\. --colluders: With joint keys"),
        ({"kappa": 0}, r"kappa = 0 is not possible: give more than 0\.0\. --kappa: "),
        ({"participation": 1.5}, r"give 1\.0 or less\. --participation: "),
        ({"dp_delta": 1}, r"give less than 1\.0\. --dp-delta: "),
    ],
)
def test_a_value_out_of_bounds_is_told_what_to_give_and_as_which_option(
    values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        Config.read(values, "the command line")


def test_a_sentence_may_have_braces() -> None:
    class Strict(Settings):
        form: str

        @field_validator("form")
        @classmethod
        def _never(cls, form: str) -> str:
            raise ValueError(f"{form} is no form; write {{name}}")

    with pytest.raises(BadInput, match=r"\{x\} is no form; write \{name\}\.$"):
        Strict.read({"form": "{x}"}, "file")


def test_a_cut_file_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "cut.toml").write_text('dataset = "heart')
    with pytest.raises(BadInput, match=r"if the file was cut on its way, get it again\.$"):
        Config.load(tmp_path / "cut.toml")

"""The models behind a run's last numbers: kept for every method, in the result and in the folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from secure_sapefl import Config, resume, simulate
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.run_folder import models_of
from secure_sapefl.engine.scored import MODELS, ScoredModels
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.models.stacked import build_model

OWN = """
from torch import nn

def build(about):
    frozen = nn.Linear(about.shape[0], 6).requires_grad_(False)
    return nn.Sequential(frozen, nn.Tanh(), nn.Dropout(0.25), nn.Linear(6, about.outputs))
"""

Tiny = Callable[..., Config]


def scores(result: Result, config: Config) -> list[float]:
    """Of the modules a result hands out, on the rows they were scored with."""
    found = []
    for client in federation_of(config).clients:
        with torch.no_grad():
            answers = result.model(client.name)(torch.from_numpy(client.test.X)).argmax(1).numpy()
        found.append(float((answers == client.test.y).mean()))
    return found


@pytest.mark.parametrize("method", ALGORITHMS)
def test_every_methods_modules_score_what_is_reported(tiny: Tiny, method: str) -> None:
    config = tiny(method=method, rounds=2)
    result = simulate(config)
    assert scores(result, config) == list(result.accuracy.per_client)


@pytest.mark.parametrize("method", ["fedavg-ft", "fedavg-ft-plus", "perfedavg"])
def test_sites_that_tune_the_common_model_have_models_of_their_own(tiny: Tiny, method: str) -> None:
    models = simulate(tiny(method=method, rounds=1)).models
    assert models is not None
    assert len({theta.numpy().tobytes() for theta in models.thetas.values()}) == 4


def test_handing_a_module_out_twice_gives_two(whole: tuple[Path, Result]) -> None:
    """Whoever trains one does not change what was scored."""
    result = whole[1]
    name = result.facts["client_names"][0]
    first = result.model(name)
    assert not first.training
    torch.nn.init.zeros_(next(first.parameters()))
    assert next(result.model(name).parameters()).abs().sum() > 0


def test_an_unknown_site_is_told_its_neighbour(whole: tuple[Path, Result]) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'client-0'"):
        whole[1].model("cleint-0")


def test_a_run_that_goes_on_has_no_models_yet(whole: tuple[Path, Result]) -> None:
    unfinished = Result(facts={}, parameters=1, rounds=whole[1].rounds)
    with pytest.raises(BadInput, match="not over"):
        unfinished.model("client-0")


def test_the_folder_holds_them_bit_for_bit(whole: tuple[Path, Result]) -> None:
    folder, result = whole
    kept, models = models_of(folder), result.models
    assert models is not None
    torch.testing.assert_close(dict(kept.thetas), dict(models.thetas), atol=0, rtol=0)
    assert (kept.shape, kept.classes) == (models.shape, models.classes)
    assert {site: dict(recipe) for site, recipe in kept.recipes.items()} == {
        site: dict(recipe) for site, recipe in models.recipes.items()
    }


def test_a_model_all_share_is_stored_once(tiny: Tiny, tmp_path: Path) -> None:
    simulate(tiny(method="fedavg", rounds=1), tmp_path / "common")
    simulate(tiny(method="local", rounds=1), tmp_path / "own")
    common, own = ((tmp_path / run / MODELS).stat().st_size for run in ("common", "own"))
    assert own > 3 * common


def test_a_run_that_had_ended_gives_them_again(tiny: Tiny, tmp_path: Path) -> None:
    first = simulate(tiny(method="fedavg-ft", rounds=2, late_clients=1), tmp_path / "run")
    before = (tmp_path / "run" / MODELS).read_bytes()
    again = resume(tmp_path / "run")
    assert (tmp_path / "run" / MODELS).read_bytes() == before
    late = first.late_clients["names"][0] if first.late_clients else ""
    torch.testing.assert_close(again.model(late).state_dict(), first.model(late).state_dict(), atol=0, rtol=0)


def test_a_run_stopped_right_after_its_last_round_makes_them_again(
    tiny: Tiny, tmp_path: Path, stop_after: Callable[..., None]
) -> None:
    config = tiny(method="fedavg-ft", rounds=2)
    stop_after(config, tmp_path / "run", rounds=2)
    assert not (tmp_path / "run" / MODELS).exists()
    result = resume(tmp_path / "run")
    assert scores(result, config) == list(result.accuracy.per_client)


def test_a_folder_without_them_says_how_to_make_them(tiny: Tiny, tmp_path: Path) -> None:
    simulate(tiny(rounds=1), tmp_path / "run")
    (tmp_path / "run" / MODELS).unlink()
    with pytest.raises(BadInput, match="--resume"):
        models_of(tmp_path / "run")
    (tmp_path / "run" / MODELS).write_bytes(b"not what it was")
    with pytest.raises(BadInput, match="damaged"):
        models_of(tmp_path / "run")


def test_a_model_of_ones_own_is_built_again_from_its_file(tiny: Tiny, tmp_path: Path) -> None:
    """With a layer that stands still, dropout that is off in use, and the file as it was."""
    own = tmp_path / "own.py"
    own.write_text(OWN)
    result = simulate(tiny(method="fedavg-ft", rounds=1, model=f"{own}:build"), tmp_path / "run")
    kept = models_of(tmp_path / "run")
    x = torch.linspace(-1, 1, 2 * kept.shape[0]).view(2, -1)
    for site in kept.thetas:
        module = kept.module(site)
        assert not module.training
        assert torch.equal(module(x), result.model(site)(x))
    own.write_text(OWN.replace("0.25", "0.5"))
    with pytest.raises(BadInput, match="the model differs"):
        models_of(tmp_path / "run")


def test_what_is_behind_a_model_does_not_belong_to_it(whole: tuple[Path, Result], tiny: Tiny) -> None:
    """Some methods keep more in common than a model; only the model is scored."""
    model, federation = build_model((2,), 2, "small"), federation_of(tiny())
    scored = ScoredModels.from_federations(model, [federation], {"client-0": torch.ones(model.parameters + 5)})
    assert len(scored.thetas["client-0"]) == model.parameters

"""A small private run to attack, and mutants of our own code: mistakes that an audit exists to find."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sapefl_crypto.tags import TagMaker
from secure_sapefl import Config, simulate
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.audit.audit import Effort, audit
from secure_sapefl.audit.findings import Findings
from secure_sapefl.audit.inversion import Attack
from secure_sapefl.audit.replay import Replay, replay
from secure_sapefl.data import ClientData, Federation, Rows, build
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.engine.protection import Ckks
from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import Convolution, Flatten, Linear, Pool, Relu, StackedModel
from secure_sapefl.privacy import accounting, calibration, group, trainer
from secure_sapefl.privacy.per_record import record_gradients
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.trainer import BatchedTrainer
from tests.data.neighbours import stratified

TINY = {
    "clients": 12,
    "rounds": 4,
    "participation": 1.0,
    "local_epochs": 2,
    "kappa": 20.0,
    "workers": 0,
    "data_options": {"rows": 1800, "classes": 3, "informative": 5, "flip_y": 0.0},
}
PRIVATE = {"dp_epsilon": 1.0, "dp_delta": 1e-5}
QUICK = Effort(pairs=0, canaries=180, trainings=400, queries=200, attack=Attack(steps=20, starts=1, images=2))

SMALL = {
    "clients": 4,
    "rounds": 3,
    "participation": 0.75,
    "local_epochs": 1,
    "data_options": {"rows": 240, "classes": 3, "informative": 5, "flip_y": 0.0},
}
MLP = StackedModel((Linear(5, 12), Relu(), Linear(12, 3)), classes=3, widest=12)
CNN = StackedModel((Convolution(1, 4), Relu(), Pool(), Flatten(), Linear(64, 3)), classes=3, widest=4 * 64)
SHAPES = {MLP: (5,), CNN: (1, 8, 8)}

Mutate = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Config]:
    return lambda **changes: Config(**(TINY | changes))


@pytest.fixture(scope="session")
def finished(tiny: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of a finished run, made once for each configuration."""
    made: dict[str, Path] = {}

    def run(**changes: Any) -> Path:
        name = repr(sorted(changes.items()))
        if name not in made:
            made[name] = tmp_path_factory.mktemp("run") / "run"
            simulate(tiny(**changes), made[name])
        return made[name]

    return run


@pytest.fixture(scope="session")
def audited(finished: Callable[..., Path]) -> Callable[..., Findings]:
    """A quick audit of a run as it is, made once for each configuration."""
    made: dict[str, Findings] = {}

    def find(effort: Effort = QUICK, **changes: Any) -> Findings:
        name = repr((effort, sorted(changes.items())))
        if name not in made:
            made[name] = audit(finished(**changes), effort)
        return made[name]

    return find


@pytest.fixture(scope="session")
def small(tiny: Callable[..., Config]) -> Callable[..., Config]:
    """Four sites, three of them a round."""
    return lambda **changes: tiny(**(SMALL | changes))


@pytest.fixture(scope="session")
def runs(small: Callable[..., Config]) -> dict[str, Replay]:
    """The same study in the open, encrypted, and with hidden scores; every party has listened."""
    configs = {name: small(protection=name) for name in ("plaintext", "ckks")}
    configs["hidden"] = small(scores="hidden")
    return {name: replay(config, federation_of(config)) for name, config in configs.items()}


@dataclass(frozen=True)
class Records:
    model: Model
    theta: torch.Tensor
    x: torch.Tensor
    y: torch.Tensor

    def gradients(self) -> torch.Tensor:
        """Every record's, formed by autograd one by one, [n, P]."""
        count = len(self.y)
        batch = Batch(self.x[:, None], self.y[:, None], torch.zeros((count, 1)), torch.ones((count, 1)))
        return BatchedTrainer(self.model).gradient(self.theta.repeat(count, 1), batch, LocalLoss())


@pytest.fixture
def records() -> Callable[..., Records]:
    """Random records of a small model, of a table or of images."""

    def make(kind: str, rows: int = 6, width: float = 1.0) -> Records:
        model, random = {"mlp": MLP, "cnn": CNN}[kind], torch.Generator().manual_seed(3)
        x = width * torch.randn((rows, *SHAPES[model]), generator=random)
        theta = model.initial(np.random.default_rng(1))
        return Records(model, theta, x, torch.randint(3, (rows,), generator=random))

    return make


@pytest.fixture(scope="session")
def federation() -> Federation:
    """Four sites of rows with coins for labels: to fit them is to remember them."""
    rng = np.random.default_rng(0)

    def rows(count: int) -> Rows:
        return Rows(rng.normal(size=(count, 20)).astype(np.float32), rng.integers(0, 2, count))

    clients = tuple(ClientData(name=f"s{c}", train=rows(60), test=rows(60)) for c in range(4))
    return Federation(
        dataset="d", shape=(20,), class_names=("a", "b"), clients=clients, source="made up", partition="iid"
    )


def scores_without_noise(patch: pytest.MonkeyPatch) -> None:
    def exact(paid: Any, _: Any, values: torch.Tensor, asked: torch.Tensor, *__: Any) -> torch.Tensor:
        for one in paid:
            one.spend()
        return values.where(asked, torch.zeros(()))

    patch.setattr(group, "noisy_means", exact)


def batch_clipping(patch: pytest.MonkeyPatch) -> None:
    """The mean gradient of a batch is clipped, not each record's."""

    def clipped(model: Any, weights: Any, batch: Any, objective: Any, clip: float) -> list[torch.Tensor]:
        layers = record_gradients(model, weights, batch, objective)
        parts = [part for layer in layers for part in layer.combined(batch.weight)]
        norm = torch.stack([part.flatten(1).square().sum(1) for part in parts]).sum(0).sqrt()
        factor = clip / norm.clamp(min=clip)
        return [(part.flatten(1) * factor[:, None]).view_as(w) for part, w in zip(parts, weights, strict=True)]

    patch.setattr(trainer, "clipped_sum", clipped)


def personal_model_not_private(patch: pytest.MonkeyPatch) -> None:
    real = SiteGroup.train

    def train(self: SiteGroup, theta: Any, objective: Any, purpose: Purpose, *args: Any, **kwargs: Any) -> Any:
        stays = {"leaves": False} if purpose is Purpose.PERSONAL_BATCHES else {}
        return real(self, theta, objective, purpose, *args, **(kwargs | stays))

    patch.setattr(SiteGroup, "train", train)


def key_within_reach(patch: pytest.MonkeyPatch) -> None:
    """The server's adders come from an object that also holds the key."""
    real = Ckks.adders
    patch.setattr(Ckks, "adders", lambda self, study: lambda round_index: real(self, study)(round_index))


def tags_not_checked(patch: pytest.MonkeyPatch) -> None:
    real = TagMaker.residuals
    patch.setattr(TagMaker, "residuals", lambda self, *args: 0 * real(self, *args))


def training_without_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(trainer.SiteNoise, "add_", lambda *_: None)


def accountant_that_hardly_counts(patch: pytest.MonkeyPatch) -> None:
    """What a release costs is understated: noise is calibrated to that, and the ledger believes it."""
    real = accounting.renyi_divergence
    for module in (accounting, calibration):
        patch.setattr(module, "renyi_divergence", lambda *args: real(*args) / 1e4)


def stratified_split(patch: pytest.MonkeyPatch) -> None:
    """Training and test rows by a permutation over the whole file, as where nothing is promised."""
    patch.setattr(build, "split_by_coins", stratified)


MUTANTS: dict[str, Mutate] = {
    "noise forgotten on the scores": scores_without_noise,
    "batch clipped instead of each record": batch_clipping,
    "personal model from training that is not private": personal_model_not_private,
    "key within the server's reach": key_within_reach,
    "tags not checked": tags_not_checked,
    "noise forgotten in training": training_without_noise,
    "accountant that hardly counts": accountant_that_hardly_counts,
    "rows split by a permutation over the file": stratified_split,
}


@pytest.fixture
def mutate() -> Callable[[str], Any]:
    """Puts a mutant in place of sound code until its block ends."""

    @contextmanager
    def place(name: str) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            MUTANTS[name](patch)
            calibration.calibrate.cache_clear()
            yield
        calibration.calibrate.cache_clear()

    return place


@pytest.fixture(scope="session")
def effort() -> Effort:
    return QUICK


@pytest.fixture(scope="session")
def private() -> dict[str, float]:
    return PRIVATE

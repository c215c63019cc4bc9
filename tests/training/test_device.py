"""There is no GPU here, so two proofs that a step never leaves the device.

Torch's `meta` device computes shapes only: a tensor left on the CPU, or a value asked back from the device, fails. And
the source itself holds no call that would ask.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch

import secure_sapefl
from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import build_model
from secure_sapefl.sape.objective import Anchors, CosineAnchored, ProximalAnchored
from secure_sapefl.sape.similarity import OutputForm
from secure_sapefl.training.descent import descend
from secure_sapefl.training.objective import LocalLoss, Objective, Proximal, Pull
from secure_sapefl.training.plan import Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer

META = torch.device("meta")
SIZES = (5, 3, 1)
PACKAGE = Path(secure_sapefl.__file__).parent
HOST_ONLY = PACKAGE / "training/descent.py"  # asks tensors on the CPU only; the last test here watches it
STEP_FILES = sorted({*PACKAGE.glob("training/*.py"), *PACKAGE.glob("sape/*.py")} - {HOST_ONLY})
SYNCHRONISING = {"item", "cpu", "numpy", "tolist", "nonzero"}


def train_on_meta(model: Model, shape: tuple[int, ...], objective: Objective, stack_bytes: int | None) -> torch.Tensor:
    rows = sum(SIZES)
    shard = Shard(
        torch.empty((rows, *shape), device=META),
        torch.empty(rows, dtype=torch.int64, device=META),
        starts=(0, 5, 8),
        sizes=SIZES,
    )
    plan = plan_batches(SIZES, [np.random.default_rng(g) for g in range(3)], epochs=2, batch_size=2)
    theta = torch.empty((3, model.parameters), device=META)
    return BatchedTrainer(model, stack_bytes).train(theta, shard, plan, objective, 0.1)


def anchors(model: Model) -> Anchors:
    peer, shared = torch.empty((3, model.parameters), device=META), torch.empty(model.parameters, device=META)
    outputs = [torch.empty((3, max(SIZES), model.classes), device=META)] * 2
    return Anchors.stacked((peer, shared), outputs, [torch.empty(3, device=META)] * 2)


@pytest.mark.parametrize("stack_bytes", [None, 1])
@pytest.mark.parametrize("form", ["flattened", "per_sample"])
@pytest.mark.parametrize("shape", [(4,), (1, 8, 8)])
def test_a_dual_anchored_step_stays_on_its_device(
    shape: tuple[int, ...], form: OutputForm, stack_bytes: int | None
) -> None:
    model = build_model(shape, 3, "small")
    trained = train_on_meta(model, shape, CosineAnchored(anchors(model), 0.5, form), stack_bytes)
    assert trained.device == META
    assert trained.shape == (3, model.parameters)


def test_the_other_objectives_stay_on_their_device_too() -> None:
    model = build_model((4,), 3, "small")
    leash = Proximal(torch.empty(model.parameters, device=META), torch.empty(3, device=META))
    for objective in (LocalLoss(), leash, ProximalAnchored(anchors(model))):
        assert train_on_meta(model, (4,), objective, None).device == META


def test_meta_notices_a_tensor_left_on_the_cpu() -> None:
    model = build_model((4,), 3, "small")
    forgotten = Proximal(torch.zeros(model.parameters), torch.empty(3, device=META))
    with pytest.raises(RuntimeError, match="device"):
        train_on_meta(model, (4,), forgotten, None)


def synchronising_calls(source: str) -> set[str]:
    called = {node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}
    return {func.attr for func in called if isinstance(func, ast.Attribute)} & SYNCHRONISING


@pytest.mark.parametrize("file", STEP_FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_step_asks_a_value_back_from_the_device(file: Path) -> None:
    assert synchronising_calls(file.read_text(encoding="utf-8")) == set()


def test_the_search_for_such_calls_finds_them() -> None:
    assert synchronising_calls("loss.sum().item(); x.cpu().numpy()") == {"item", "cpu", "numpy"}


def test_a_single_model_on_a_device_is_not_asked_for_its_pull() -> None:
    theta = torch.empty((1, 6), device=META)
    pull = Pull(torch.empty(1, device=META), torch.empty((1, 1), device=META), (theta.clone(),))
    descend(theta, [theta], [theta.clone()], pull, 0.1)  # a meta tensor has no number to give back
    assert theta.device == META

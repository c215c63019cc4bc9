"""A common model for people outside the cohort.

A decrypted sum stays with those who hold the key: what outsiders get is `CohortKey.decode_for_release`, whose noise
hides what a decryption tells about the key. Releases are counted on disk, each before its file appears. The noise is
far below what training itself leaves open. It hides nothing about records: only differential privacy does.
"""

import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import torch

from sapefl_crypto.release import MAX_RELEASES, release_noise
from secure_sapefl import __version__
from secure_sapefl.algorithms.base import Homomorphic
from secure_sapefl.algorithms.server_step import only_adds
from secure_sapefl.config import Config
from secure_sapefl.data.arrays import read_npz
from secure_sapefl.engine.assembly import Assembly, assemble, federation_of
from secure_sapefl.engine.protection import Ckks
from secure_sapefl.engine.run_folder import config_of, identity_of, saved_state, summary_of
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import Labels, Scale
from secure_sapefl.metrics import Floats
from secure_sapefl.models.base import Description
from secure_sapefl.models.presets import PRESETS, Choice, made
from secure_sapefl.privacy.errors import PrivacyWarning
from secure_sapefl.protocol.blueprint import Blueprint
from secure_sapefl.protocol.codec import Vector
from secure_sapefl.storage import json_lines
from secure_sapefl.storage.files import write_whole, writing
from secure_sapefl.storage.lock import Lock
from secure_sapefl.tasks.builtin import TASKS

if TYPE_CHECKING:
    from secure_sapefl.privacy.shared.setup import SharedNoise

_FORMAT: Final = 1
_RELEASES: Final = "releases.jsonl"
_BARE: Final = (
    "The model was trained without differential privacy: whoever has it may learn things about single records. What a "
    "release adds to it protects a key at most, and no record."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedModel:
    """``theta`` are the weights in one row, ``about`` says what they are and how they came about."""

    theta: Vector
    about: Mapping[str, Any]

    def probabilities(self, X: Floats) -> Floats:
        """Of each class (second axis), or that each label is yes, for every row of ``X``, which is prepared as
        ``about`` says; of a regression, the numbers it answers with, in their units."""
        task = TASKS[self.about.get("task", "classification")]
        about = Description(tuple(self.about["shape"]), task.outputs(len(self.about["classes"])), task.name)
        choice = Choice(name=self.about["model"], head=self.about.get("head"))
        model = made(choice, about, np.random.default_rng(0)).model
        rows = torch.from_numpy(np.asarray(X, dtype=np.float32))
        read = task.read(model.outputs(torch.from_numpy(self.theta)[None], rows[None])[0].numpy())
        scale = self.about.get("scale")
        return read if scale is None else Scale(tuple(scale["centre"]), tuple(scale["width"])).to_units(read)

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        about = np.array(json.dumps({**self.about, "format": _FORMAT}))
        np.savez(buffer, allow_pickle=False, theta=self.theta, about=about)
        return buffer.getvalue()

    @classmethod
    def read(cls, path: Path | str) -> Self:
        arrays = read_npz(Path(path)).values
        try:
            about = json.loads(str(arrays["about"]))
            if about.pop("format") != _FORMAT:
                raise BadInput(f"{path} was written by a later version. Install secure-sapefl {about['package']}.")
            return cls(theta=arrays["theta"].astype(np.float32), about=about)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadInput(f"{path} is not a model that `secure-sapefl release` wrote.") from None


def require_publishable(blueprint: Blueprint) -> None:
    """Noise, where a release has some, is sized for a sum of decrypted means and nothing else."""
    algorithm, title = blueprint.algorithm, blueprint.algorithm.title
    if algorithm.homomorphic is not Homomorphic.WEIGHTED_SUM:
        raise BadInput(f"{title} trains no common model: there is nothing to publish.")
    if blueprint.study.parameters < blueprint.model.parameters:
        raise BadInput(f"The common model of {title} has no last layer: each site keeps its own. Nothing to publish.")
    if blueprint.config.model not in PRESETS or blueprint.config.init is not None:
        raise BadInput("Only models of ours can be published so far: nobody else could build one of your own.")
    if blueprint.task.name not in TASKS:
        raise BadInput("Only models of tasks of ours can be published so far: nobody else could read the answers.")
    noisy = blueprint.config.protection == "ckks" and blueprint.study.keys == "shared"
    if noisy and not only_adds(algorithm):
        raise BadInput(f"{title} does more with a decrypted sum than add it; the noise of a release does not fit.")


def scale_of(labels: Labels) -> dict[str, Any]:
    """What turns a model's answers into units, where there is something."""
    return {} if labels.scale is None else {"scale": asdict(labels.scale)}


def require_new(out: Path) -> None:
    """Before anything is counted."""
    if out.exists():
        raise BadInput(f"{out} is there already, and a published model is not replaced. Choose another --out.")


def described(
    blueprint: Blueprint, shared: "SharedNoise | None", *, noise: float, release: int, allowed: int | None
) -> dict[str, Any]:
    """What everybody may know of a published model; says aloud what its noise does not protect."""
    config = blueprint.config
    if config.dp_epsilon is None:
        warnings.warn(_BARE, PrivacyWarning, stacklevel=2)
    return {
        "study": blueprint.study.name,
        "method": config.method,
        "options": config.options,
        "model": config.model,
        **({} if config.head is None else {"head": config.head}),  # its weights come last
        "task": blueprint.task.name,
        "parameters": blueprint.model.parameters,
        "noise": noise,
        "release": release,
        "allowed_releases": allowed,
        "privacy": _promised(config, shared),
        "package": __version__,
    }


def _promised(config: Config, shared: "SharedNoise | None") -> dict[str, Any] | None:
    """The study's budget. Under shared noise: both numbers, for whom, and what the smaller one rests on."""
    if config.dp_epsilon is None:
        return None
    if shared is None:
        return {"epsilon": config.dp_epsilon, "delta": config.dp_delta}
    plan = shared.plan
    return {
        "unit": plan.unit,
        "epsilon_shared": plan.budget.epsilon,
        "contributors": plan.parties.contributors,
        "colluders": plan.parties.colluders,
        "epsilon_max": plan.epsilon_max,
        "delta": plan.budget.delta,
    }


def release_run(folder: Path | str, out: Path | str) -> PublishedModel:
    """Publish the common model of a finished simulation, as a site of the same study would."""
    folder, out = Path(folder), Path(out)
    summary_of(folder)  # or say that the run is not finished
    require_new(out)
    config = config_of(folder)
    federation = federation_of(config)
    identity_of(folder).check_rows(folder, federation)
    assembly = assemble(config, federation)
    identity_of(folder).check_sources(folder, assembly.blueprint.sources)
    require_publishable(assembly.blueprint)
    with Lock(folder / "lock", f"The run in {folder}", "Wait until it ends."), writing(out, "Nothing was published."):
        counted = folder / _RELEASES
        earlier = sum(1 for _ in json_lines.read(counted)) if counted.exists() else 0
        model = _from_run(folder, assembly, earlier)
        json_lines.append(counted, {"release": earlier + 1, "file": str(out), "noise": model.about["noise"]})
        write_whole(out, model.to_bytes())
    return model


def _from_run(folder: Path, assembly: Assembly, earlier: int) -> PublishedModel:
    """The run's own key ended with it. One of the same plan stands in: the noise depends on the plan alone."""
    records, tensors = saved_state(folder)
    blueprint, federation, protection = assembly.blueprint, assembly.federation, assembly.protection()
    theta: Vector = tensors["theta_global"].numpy()[: blueprint.model.parameters]
    noise, allowed = 0.0, None
    if isinstance(protection, Ckks):
        theta = protection.key.decode_for_release(theta, decryptions=len(records), earlier_releases=earlier)
        noise, allowed = release_noise(protection.params, len(records)), MAX_RELEASES
    about = described(blueprint, assembly.shared, noise=noise, release=earlier + 1, allowed=allowed)
    data = {"shape": federation.shape, "classes": federation.class_names, "preparation": federation.preparation}
    data |= scale_of(federation.labels)
    return PublishedModel(theta=theta, about={**about, **data, "rounds": len(records)})

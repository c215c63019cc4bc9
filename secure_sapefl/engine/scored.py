"""The models behind a run's last numbers: what every site uses, as it was scored.

Several methods make that model anew whenever it is used, by fine-tuning the common one, and keep only what they begin
with. So what was scored is kept: in a `Result`, and as `models.safetensors` in a run's folder. There a model that all
sites share is stored once.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from secure_sapefl.data import Federation
from secure_sapefl.data.prepare import Recipe
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.labels import CLASSES, Labels, Scale
from secure_sapefl.models.base import Description, Model, loaded
from secure_sapefl.protocol.messages import SiteId

MODELS: Final = "models.safetensors"
T = TypeVar("T")
Rebuilt = Callable[[Description], Model]
"""The model for such data."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredModels:
    """``thetas`` are weight vectors [P] in main memory, ``recipes`` say how each site's rows were prepared."""

    model: Model
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    thetas: Mapping[SiteId, Tensor]
    recipes: Mapping[SiteId, Recipe]
    labels: Labels = CLASSES
    task: str = "classification"

    @classmethod
    def from_federations(
        cls,
        model: Model,
        federations: Iterable[Federation],
        thetas: Mapping[SiteId, Tensor],
        task: str = "classification",
    ) -> "ScoredModels":
        """In the order of the sites' rosters."""
        known = tuple(federations)
        recipes = {client.name: client.recipe for one in known for client in one.clients}
        return cls(
            model=model,
            shape=known[0].shape,
            classes=known[0].class_names,
            thetas={site: thetas[site][: model.parameters] for site in recipes if site in thetas},
            recipes=recipes,
            labels=known[0].labels,
            task=task,
        )

    def module(self, site: SiteId) -> nn.Module:
        """An ordinary module with the site's weights, set to be used and not trained."""
        if site not in self.thetas:
            raise UnknownName("site", site, self.thetas)
        return loaded(self.model, self.thetas[site]).eval()

    def to_bytes(self) -> bytes:
        models, which_model = _distinct(self.thetas, lambda theta: theta.numpy().tobytes())
        recipes, which_recipe = _distinct({site: self.recipes[site] for site in self.thetas}, _text)
        about = {
            "shape": self.shape,
            "classes": self.classes,
            "labels": asdict(self.labels),
            "task": self.task,
            "outputs": self.model.classes,
            "sites": [{"name": site, "model": which_model[site], "recipe": which_recipe[site]} for site in self.thetas],
            "recipes": [dict(recipe) for recipe in recipes],
        }
        return save({"theta": torch.stack(models)}, metadata={"about": json.dumps(about)})

    @classmethod
    def read(cls, path: Path, rebuilt: Rebuilt) -> "ScoredModels":
        """What `to_bytes` wrote into ``path``."""
        try:
            with safe_open(path, framework="pt") as file:
                about, theta = json.loads(file.metadata()["about"]), file.get_tensor("theta")
            return cls._from(about, theta, rebuilt)
        except (SafetensorError, OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise BadInput(f"{path} is damaged ({type(error).__name__}): its models cannot be read.") from None

    @classmethod
    def _from(cls, about: Mapping[str, Any], theta: Tensor, rebuilt: Rebuilt) -> "ScoredModels":
        shape, sites = tuple(about["shape"]), about["sites"]
        return cls(
            model=rebuilt(Description(shape, about["outputs"], about["task"])),
            shape=shape,
            classes=tuple(about["classes"]),
            thetas={site["name"]: theta[site["model"]] for site in sites},
            recipes={site["name"]: about["recipes"][site["recipe"]] for site in sites},
            labels=_labels(about["labels"]),
            task=about["task"],
        )


def _labels(values: Mapping[str, Any]) -> Labels:
    scale = values["scale"]
    if scale is None:
        return Labels(values["kind"])
    return Labels(values["kind"], Scale(tuple(scale["centre"]), tuple(scale["width"]), scale["public"]))


def _text(recipe: Recipe) -> str:
    return json.dumps(dict(recipe), sort_keys=True)


def _distinct(values: Mapping[SiteId, T], key: Callable[[T], Hashable]) -> tuple[list[T], dict[SiteId, int]]:
    """The values without repetition, and each site's place among them."""
    places: dict[Hashable, int] = {}
    kept: list[T] = []
    of_site = {}
    for site, value in values.items():
        place = places.setdefault(key(value), len(places))
        if place == len(kept):
            kept.append(value)
        of_site[site] = place
    return kept, of_site

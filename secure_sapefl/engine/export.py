"""A site's own model as a file that plain torch reads, for its owner.

`model.safetensors` holds a state dict, `model.pt2` a `torch.export` program that needs no source code. Neither has a
pickle in it, which could run code when read. Beside it, `model.preprocessing.json` says how records become its inputs.

An export is what the site has in its hands anyway. It has no noise for the cohort key's sake and hides nothing about
records, so its metadata says that it is not for outsiders: to them `published.py` is the only way.
"""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import torch
from safetensors.torch import save
from torch import Tensor, nn

from secure_sapefl import __version__
from secure_sapefl.data.prepare import Recipe
from secure_sapefl.engine.scored import ScoredModels
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import CLASSES, Labels
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.storage.files import write_whole, writing

OWN_USE: Final = (
    "For the own use of the site that trained it. Whoever is given this file may learn about single records and, "
    "of an encrypted study, about its key. `secure-sapefl release` is the only way to outsiders."
)


@dataclass(frozen=True, slots=True)
class StateOnly:
    """A module that is not here, because its code runs elsewhere: its tensors by name, and how it describes itself."""

    tensors: Mapping[str, Tensor]
    words: str

    def __str__(self) -> str:
        return self.words

    def state_dict(self) -> Mapping[str, Tensor]:
        return self.tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """``about`` is everything a reader should know beside the weights; ``recipe`` is how its inputs were prepared."""

    module: nn.Module | StateOnly
    site: SiteId
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    recipe: Recipe
    about: Mapping[str, Any]
    labels: Labels = CLASSES

    def described(self) -> dict[str, Any]:
        return {
            "use": OWN_USE,
            "site": self.site,
            "inputs": {"dtype": "float32", "shape": ["rows", *self.shape]},
            **self._about_answers(),
            "module": str(self.module),
            "package": __version__,
            **self.about,
        }

    def _about_answers(self) -> dict[str, Any]:
        """What the outputs mean: logits of classes, log-odds of labels, or numbers on a scale."""
        if self.labels.kind == "class":
            return {"classes": list(self.classes)}
        scale = self.labels.scale
        units = {} if scale is None else {"centre": list(scale.centre), "width": list(scale.width)}
        formula = "outputs * width + centre" if scale is not None else "outputs"
        return {"labels": list(self.classes), "kind": self.labels.kind, "formula": formula, **units}

    def preprocessing(self) -> bytes:
        return json.dumps({"use": OWN_USE, "site": self.site, **self.recipe}, indent=1).encode()


def scored_model(models: ScoredModels, summary: Mapping[str, Any], site: SiteId) -> OwnModel:
    """The model of one site of a simulation, with what the run's ``summary`` says of it."""
    return OwnModel(
        module=models.module(site),
        site=site,
        shape=models.shape,
        classes=models.classes,
        recipe=models.recipes[site],
        labels=models.labels,
        about={
            "method": summary["method"],
            "dataset": summary["dataset"],
            "rounds": summary["rounds"],
            "task": summary["task"],
            **_scored(summary, site),
        },
    )


def _scored(summary: Mapping[str, Any], site: SiteId) -> dict[str, float | None]:
    """What is reported of it first, of those who trained and of those who came late: `test_accuracy`, say."""
    main = summary["main_metric"]
    late = summary["late_clients"] or {"names": (), "metrics": {main: {"per_client": ()}}}
    names = (*summary["client_names"], *late["names"])
    values = (*summary["metrics"][main]["per_client"], *late["metrics"][main]["per_client"])
    return {f"test_{main}": dict(zip(names, values, strict=True))[site]}


def write_export(model: OwnModel, out: Path | str) -> tuple[Path, Path]:
    """The model and, beside it, its preprocessing, which two formats of one model share; nothing is replaced."""
    path = Path(out)
    as_bytes, preprocessing = _format(path), model.preprocessing()
    beside = path.with_suffix(".preprocessing.json")
    with writing(path, "Choose another --out."):
        for file in (path, beside):
            if file.exists() and (file is path or file.read_bytes() != preprocessing):
                raise BadInput(f"{file} is there already, and is not replaced. Choose another --out.")
        content = as_bytes(model)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(beside, preprocessing)
        write_whole(path, content)
    return path, beside


def _format(path: Path) -> Callable[[OwnModel], bytes]:
    if path.suffix in _FORMATS:
        return _FORMATS[path.suffix]
    why = " Such files hold pickles, which can run code when they are read." if path.suffix in _PICKLES else ""
    raise BadInput(f"{path}: a model is written as {' or '.join(_FORMATS)}.{why} Choose another --out.")


def _state_dict(model: OwnModel) -> bytes:
    """Tensors by name. Tied ones are written once each: plain `load_state_dict` wants them all."""
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in model.module.state_dict().items()}
    return save(tensors, metadata={"format": "pt", "about": json.dumps(model.described())})


def _program(model: OwnModel) -> bytes:
    """With any number of rows. Example inputs are left out: they would be the file's only pickle."""
    module, rows = model.module, torch.zeros((2, *model.shape))
    if isinstance(module, StateOnly):
        raise BadInput(
            f"The model of {model.site!r} is of code that the study carries, which is run nowhere but in its trainer. "
            "Export it as .safetensors; the code stands in the study's file."
        )
    try:
        program = torch.export.export(module, (rows,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    except Exception as error:  # of any kind: torch runs the module, which may be anybody's code
        raise BadInput(
            f"torch.export cannot follow the model of {model.site!r} ({type(error).__name__}). Export it as "
            ".safetensors; its source code is needed then."
        ) from error
    program.example_inputs = None
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"about.json": json.dumps(model.described())})
    _require_no_pickle(file)
    return file.getvalue()


def _require_no_pickle(file: io.BytesIO) -> None:
    """Torch writes tensors of rare kinds, and objects, as pickles: whoever reads the file would run them."""
    with zipfile.ZipFile(file) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    configs = [json.loads(content)["config"] for name, content in held.items() if name.endswith("_config.json")]
    pickled = [name for config in configs for name, entry in config.items() if entry["use_pickle"]]
    pickled += [name for name, content in held.items() if name.endswith((".pt", ".pkl")) and content]
    if pickled:
        raise BadInput(
            f"The model cannot be written as .pt2 without a pickle ({pickled[0]}), which could run code when it is "
            "read. Export it as .safetensors."
        )


_FORMATS: Final[Mapping[str, Callable[[OwnModel], bytes]]] = MappingProxyType(
    {".safetensors": _state_dict, ".pt2": _program}
)
_PICKLES: Final = frozenset({".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin"})

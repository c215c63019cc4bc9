"""Run by a test in a process of its own: what somebody does with an exported model who never heard of our package.

    plain_torch.py FOLDER       every FOLDER/*.safetensors and *.pt2, on the raw rows of FOLDER/raw.npz

Prints, as JSON, what each file is judged by first: an accuracy, or of numbers the mean absolute error in their units.
Not a test itself.
"""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import nn

sys.modules["secure_sapefl"] = sys.modules["sapefl_crypto"] = None  # type: ignore[assignment]  # not to be imported


def from_state_dict(path):
    """The layers follow from the shapes: this is a network of dense layers."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
    layers = []
    for name, weight in tensors.items():
        if name.endswith(".weight"):
            layers += [nn.Linear(weight.shape[1], weight.shape[0]), nn.ReLU()]
    module = nn.Sequential(*layers[:-1])
    module.load_state_dict(tensors)
    return module.eval()


def prepared(x, recipe):
    if recipe["kind"] == "table":  # of numbers alone, called by their places in X
        assert not recipe["categories"]
        return prepared(x[:, [int(name) for name in recipe["numbers"]["columns"]]], recipe["numbers"])
    if recipe["kind"] == "as given":
        return x.astype(np.float32)
    known = {name: np.array(recipe[name]) for name in ("recorded", "impute", "mean", "deviation", "clip")}
    names = {name: getattr(np, name) for name in ("where", "isnan", "clip")}
    clip = known.pop("clip")
    formula = recipe["formula"].replace("-clip, clip", "-most, most")
    return eval(formula, {**names, **known, "most": clip, "x": x}).astype(np.float32)  # noqa: S307 - our own formula


def described(path):
    """What the file says of itself."""
    if path.suffix == ".pt2":
        with zipfile.ZipFile(path) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith("extra/about.json")]
            return json.loads(archive.read(name))
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["about"])


def judged(path, X, y):
    recipe, about = json.loads(path.with_suffix(".preprocessing.json").read_text()), described(path)
    rows = torch.from_numpy(prepared(X, recipe))
    module = torch.export.load(path).module() if path.suffix == ".pt2" else from_state_dict(path)
    with torch.no_grad():
        outputs = module(rows).numpy()
    if about["task"] == "classification":
        return float(np.mean(outputs.argmax(1) == y))
    if about["task"] == "multilabel":
        return float(np.mean((outputs > 0) == y))
    numbers = {name: np.array(about[name]) for name in ("width", "centre")}
    found = eval(about["formula"], {**numbers, "outputs": outputs.astype(np.float64)})  # noqa: S307 - our own formula
    return float(np.mean(np.abs(found - y)))


def main(folder):
    raw = np.load(folder / "raw.npz")
    files = sorted((*folder.glob("*.safetensors"), *folder.glob("*.pt2")))
    print(json.dumps({file.name: judged(file, raw["X"], raw["y"]) for file in files}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

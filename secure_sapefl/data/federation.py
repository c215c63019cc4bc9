"""What the rest of the system knows about data: sites with training and test rows, ready for a model."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import PublicFacts
from secure_sapefl.data.prepare import AS_GIVEN, Recipe
from secure_sapefl.data.tables.findings import Finding


@dataclass(frozen=True, slots=True)
class Rows:
    """Prepared examples: images channels first, every value scaled, nothing missing."""

    X: NDArray[np.float32]  # [n, *shape], C-contiguous
    y: NDArray[np.int64]  # [n], indices into the federation's class names

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientData:
    name: str
    train: Rows
    test: Rows
    recipe: Recipe = field(default_factory=lambda: AS_GIVEN)  # how its raw rows became these


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """One dataset divided among sites; no row of the dataset is in two places."""

    dataset: str
    shape: tuple[int, ...]
    class_names: tuple[str, ...]
    clients: tuple[ClientData, ...]
    source: str  # which file or generator, and how many rows it gave
    partition: str  # the registered name of the partition that was used
    preparation: str = ""  # how rows were put on a scale, in words
    learned: bool = False  # whether preparing the rows used something of the sites' own, such as a mean
    findings: tuple[Finding, ...] = ()  # what was found wrong with the table it came from
    public: PublicFacts | None = None  # in a private study, what it says of its data aloud

    @property
    def classes(self) -> int:
        return len(self.class_names)

    @property
    def declared(self) -> tuple[int, ...]:
        """Training rows of each site as everybody may know them: declared in a private study, or else counted."""
        if self.public is None:
            return tuple(len(client.train) for client in self.clients)
        return tuple(self.public.rows[client.name] for client in self.clients)

    def class_counts(self) -> NDArray[np.int64]:
        """Rows of each site (first axis) in each class (second), train and test together."""
        labels = [np.concatenate([client.train.y, client.test.y]) for client in self.clients]
        return np.stack([np.bincount(y, minlength=self.classes) for y in labels])

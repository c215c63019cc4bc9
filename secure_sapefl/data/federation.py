"""What the rest of the system knows about data: sites with training and test rows, ready for a model."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import Agreed, PrivacyUnit, PublicFacts
from secure_sapefl.data.prepare import AS_GIVEN, Recipe
from secure_sapefl.data.tables.examined import Finding
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import BINS, CLASSES, Labels

NO_PERSONS: Final = (
    "Whose the rows of {site!r} are is not said. Name the column of persons in the schema (person = ...), or choose "
    "--dp-unit record; where every site is one person, --dp-unit site."
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Prepared examples: images channels first, every value scaled, nothing missing."""

    X: NDArray[np.float32]  # [n, *shape], C-contiguous
    y: NDArray[Any]  # int64 [n], indices into the class names; or float32 [n, K], a column a name
    persons: NDArray[np.int64] | None = None  # [n], whose a row is, where the data says so
    segments: NDArray[np.int64] | None = None  # [n], what must not be divided (a recording, a person), where it is said

    def __len__(self) -> int:
        return len(self.y)

    def part(self, chosen: NDArray[np.bool_]) -> "Rows":
        """The chosen rows, in their order."""
        persons, segments = (None if names is None else names[chosen] for names in (self.persons, self.segments))
        return Rows(self.X[chosen], self.y[chosen], persons, segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientData:
    name: str
    train: Rows
    test: Rows
    validation: Rows | None = None  # of the training rows, held back to choose by
    recipe: Recipe = field(default_factory=lambda: AS_GIVEN)  # how its raw rows became these


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """One dataset divided among sites; no row of the dataset is in two places."""

    dataset: str
    shape: tuple[int, ...]
    class_names: tuple[str, ...]  # or what the columns of ``y`` are called
    clients: tuple[ClientData, ...]
    source: str  # which file or generator, and how many rows it gave
    partition: str  # the registered name of the partition that was used
    preparation: str = ""  # how rows were put on a scale, in words
    learned: bool = False  # whether preparing the rows used something of the sites' own, such as a mean
    findings: tuple[Finding, ...] = ()  # what was found wrong with the table it came from
    labels: Labels = CLASSES
    agreed: Agreed | None = None  # what its sites agreed on for their tables, where they have a common preparation
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

    def declared_units(self, unit: PrivacyUnit) -> tuple[int, ...]:
        """What a budget protects one of, at each site, as everybody may know it: rows, persons, or the site itself."""
        match unit:
            case "record":
                return self.declared
            case "site":
                return (1,) * len(self.clients)
            case "person":
                known = {} if self.public is None else self.public.persons
                if nobody := [client.name for client in self.clients if client.name not in known]:
                    raise BadInput(NO_PERSONS.format(site=nobody[0]))
                return tuple(known[client.name] for client in self.clients)

    def class_counts(self) -> NDArray[np.int64]:
        """Rows of each site (first axis) in each class (second), train and test together: with each label that is yes,
        or, of numbers, in each tenth of all rows."""
        labels = [np.concatenate([client.train.y, client.test.y]) for client in self.clients]
        if self.labels.kind == "yes-no":
            return np.stack([y.sum(0) for y in labels]).astype(np.int64)
        codes = np.split(Labels(self.labels.kind).strata(np.concatenate(labels)), np.cumsum([*map(len, labels)])[:-1])
        width = self.classes if self.labels.kind == "class" else BINS
        return np.stack([np.bincount(y, minlength=width) for y in codes])

    @property
    def kinds_of_rows(self) -> tuple[str, ...]:
        """What `class_counts` counts."""
        if self.labels.kind != "number":
            return self.class_names
        return tuple(f"{self.class_names[0]}, tenth {number}" for number in range(1, BINS + 1))

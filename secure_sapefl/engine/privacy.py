"""Whether a run is private. Both kinds of study are asked the same questions, so the round is written once."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.config import Config, PublicFacts
from secure_sapefl.data import Federation
from secure_sapefl.data.public import completed
from secure_sapefl.engine.sites import Sites
from secure_sapefl.errors import BadInput, OutputFailed
from secure_sapefl.protocol.blueprint import Blueprint, shares_noise
from secure_sapefl.protocol.messages import Refusal, SiteId
from secure_sapefl.storage.chain import Head
from secure_sapefl.tasks.base import without_records

if TYPE_CHECKING:
    from secure_sapefl.privacy.ledger import Store
    from secure_sapefl.privacy.paying import AnyTerms
    from secure_sapefl.privacy.shared.carriage import ExactNumbers
    from secure_sapefl.privacy.shared.setup import SharedNoise

_WAYS_OUT: Final = (
    "Scale them by public knowledge instead: --data-option ranges=FILE.toml for a table of your own, "
    "--data-option standardise=none for one that is scaled already, standardise=public where a dataset offers it."
)


class Privacy(Protocol):
    def admit(self, round_index: int, invited: Sequence[int]) -> tuple[list[int], list[Refusal]]:
        """Which of the invited sites take part, and why the others do not."""

    def recall(self, round_index: int, invited: Sequence[int]) -> None:
        """Stand where the study stood after a round of a run that is being resumed."""

    def protect(self, group: SiteGroup, sites: Sequence[int]) -> SiteGroup:
        """The group as the method may use it."""

    def ledger_heads(self) -> Mapping[SiteId, Head]:
        """How far each ledger on disk goes now."""

    def require_ledgers(self, known: Mapping[SiteId, Head]) -> None:
        """Refuse a ledger on disk that does not reach as far as it once did."""

    def summary(self) -> dict[str, Any] | None: ...

    def close(self) -> None:
        """Nothing more will be released."""


class Unprotected:
    """Everybody takes part, and nothing is noised."""

    def admit(self, round_index: int, invited: Sequence[int]) -> tuple[list[int], list[Refusal]]:  # noqa: ARG002 - all are admitted
        return list(invited), []

    def recall(self, round_index: int, invited: Sequence[int]) -> None:
        pass

    def ledger_heads(self) -> Mapping[SiteId, Head]:
        return {}

    def require_ledgers(self, known: Mapping[SiteId, Head]) -> None:
        pass

    def close(self) -> None:
        pass

    def protect(self, group: SiteGroup, sites: Sequence[int]) -> SiteGroup:  # noqa: ARG002 - nobody is treated apart
        return group

    def summary(self) -> None:
        return None


def shared_noise_for(blueprint: Blueprint, sites: Federation, numbers: "ExactNumbers") -> "SharedNoise | None":
    """All that follows from shared noise; None where each site's own noise hides it, or nothing leaves."""
    config, algorithm = blueprint.config, blueprint.algorithm
    if not shares_noise(config, algorithm):
        return None
    from secure_sapefl.privacy.shared.setup import SharedNoise  # takes seconds to import

    units, parameters = sites.declared_units(config.dp_unit), blueprint.model.parameters
    return SharedNoise.from_config(config, algorithm, units=units, parameters=parameters, numbers=numbers)


def privacy_for(blueprint: Blueprint, sites: Sites, shared: "SharedNoise | None" = None, *, learned: bool) -> Privacy:
    """What the configuration asks for, never less. ``learned``: rows were prepared with what no budget covers."""
    config = blueprint.config
    if config.dp_epsilon is None:
        return Unprotected()
    from secure_sapefl.privacy.per_record import require_record_gradients
    from secure_sapefl.privacy.study import (  # takes seconds to import, so only where it is asked for
        StudyPrivacy,
        Terms,
    )

    terms: AnyTerms | None
    if shared is not None:
        terms = shared.terms(blueprint.options, blueprint.study.name)
    else:
        terms = Terms.from_config(config, blueprint.algorithm, blueprint.options, blueprint.study.name)
    assert terms is not None  # there is a budget
    require_record_gradients(blueprint.model)
    if blueprint.task.record_loss is None:
        raise BadInput(without_records(blueprint.task))
    rows = dict(zip(sites.names, sites.declared, strict=True))
    least = blueprint.study.least_contributors
    study = StudyPrivacy(terms, rows, stores(config.dp_ledgers), learned=learned, least=least)
    study.recall_preparation()
    return study


def public_facts_of(config: Config) -> PublicFacts | None:
    """What a private study says of its data aloud. One without a budget that says something is divided like it."""
    return config.dp_public if config.dp_epsilon is None else config.dp_public or PublicFacts()


def with_public_facts(federation: Federation, config: Config) -> Federation:
    """The federation with what its sites declare; with nothing where the study is not private."""
    facts = None if config.dp_epsilon is None else public_facts_of(config)
    known = None if facts is None else completed(federation.public or facts, federation.clients)
    return replace(federation, public=known)


def warn_of_preparation(config: Config, *, learned: bool) -> None:
    """Once a study, aloud: what its budget does not cover."""
    if config.dp_epsilon is not None and learned:
        from secure_sapefl.privacy.errors import PrivacyWarning
        from secure_sapefl.privacy.study import LEARNED

        warnings.warn(f"{LEARNED} {_WAYS_OUT}", PrivacyWarning, stacklevel=2)


def stores(folder: Path | None) -> "Callable[[SiteId], Store]":
    """Where sites keep their ledgers: in memory, or a file each, which later runs and studies go on with."""
    from secure_sapefl.privacy.ledger import MemoryStore
    from secure_sapefl.privacy.ledger_file import FileStore

    if folder is None:
        return lambda _: MemoryStore()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputFailed(f"Cannot make the folder of ledgers {folder}: {error.strerror}.") from None
    return lambda site: FileStore(_ledger_path(folder, site))


def _ledger_path(folder: Path, site: SiteId) -> Path:
    """A site's name comes out of a data file: it must not lead anywhere but into the folder of ledgers."""
    if "/" in site or not site.isprintable():
        raise BadInput(
            f"Site {site!r} can have no ledger of its name in {folder}: a file name holds no slash and no control "
            "character. Rename the site in the data."
        )
    return folder / f"{site}.jsonl"

"""A study: everything coordinator and sites agree on before the first round, as one frozen value.

Its identity is the digest of its canonical bytes: comments and layout of the file do not matter, every value does. The
file carries the coordinator's signature, and `read_study` gives back only what the signature covers. A signature shows
that the file is whole, not that its author is to be trusted: that is for a site's owner to decide, who approves a
digest (`site approve`).
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Self

import tomli_w
from pydantic import Field, field_validator, model_validator

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import sign_document, verify_document
from secure_sapefl import __version__
from secure_sapefl.config import Config, Plan, PreparationName, PublicFacts, read_toml
from secure_sapefl.data.tables.features import Measured
from secure_sapefl.data.tables.schema import Schema, TableSchema, read_schema
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.labels import LabelKind
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.results import SMALLEST_SUM
from secure_sapefl.protocol.study import cohort_size, fewest_contributors
from secure_sapefl.study.code import CarriedCode, objection
from secure_sapefl.study.roster import SMALLEST_ROSTER, PublicKey, read_keys, require_distinct, require_free_names
from secure_sapefl.study.settings import PrivacyTerms, StudySettings

_KIND: Final = "study"
_TASKS: Final[Mapping[LabelKind, str]] = {
    "class": "classification",
    "yes-no": "multilabel",
    "number": "regression",
}
_SINCE_0_1: Final[Mapping[str, object]] = {
    "scores": "open",
    "keys": "shared",
    "colluders": 1,
    "records": {},
    "server_momentum": 0.0,
    "persons": {},
    "dp_noise": "local",
    "dp_unit": "record",
    "dp_colluders": 1,
    "dp_optimizer": "momentum",
    "kind": "training",
    "smallest_cell": 5,
}
"""What later releases added, at the value that 0.1 had without saying so: its studies keep their digest."""


class StudyFile(StudySettings):
    """`study.toml` without its signature. Everything in it is public."""

    package: str = Field(__version__, max_length=64, pattern=r"^[0-9A-Za-z.+_-]+$")
    coordinator: PublicKey
    roster: Annotated[tuple[PublicKey, ...], Field(min_length=SMALLEST_ROSTER)]
    data: Schema = Field(discriminator="kind")
    code: CarriedCode | None = None

    @field_validator("data", mode="before")
    @classmethod
    def _schema_by_kind(cls, values: object) -> object:
        return read_schema(values) if isinstance(values, Mapping) else values

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_distinct((self.coordinator_keys, *self.sites_keys))
        require_free_names(self.sites_keys)
        if self.cohort_size > self.protection.max_clients:
            raise StudyRejected(
                f"{self.cohort_size} sites take part in a round, the encryption is planned for "
                f"{self.protection.max_clients}; raise protection.max_clients."
            )
        if self.min_cohort > self.cohort_size:
            raise StudyRejected(
                f"min_cohort = {self.min_cohort}, but only {self.cohort_size} sites are invited to a round: "
                "no round could ever count. Lower it, or raise participation."
            )
        wrong = objection(self.model, self.code, budget=self.privacy is not None)
        if wrong is not None:
            raise StudyRejected(f"Carried code: {wrong}.")
        self._require_sound_records()
        self._require_results_that_hide()
        self._require_sound_sums()
        self._require_sound_labels()
        self._require_possible_preparation()
        if self.kind == "statistics" and (self.rounds, self.participation) != (1, 1.0):
            raise StudyRejected("A study of kind statistics has one round, and every site in it.")
        return self

    def _require_sound_labels(self) -> None:
        labels = self.data.label_is
        if self.task not in (None, _TASKS[labels.kind]):
            raise StudyRejected(f"task = {self.task!r}, and the labels of the schema are for {_TASKS[labels.kind]}.")
        if labels.kind == "number" and labels.scale is None:
            raise StudyRejected(
                f"{', '.join(self.data.label_names)}: sites put a number on one scale without looking at records. Give "
                "one label, and low and high of its target."
            )

    def _require_possible_preparation(self) -> None:
        """A common preparation and a Table 1 are counted on public ranges and levels."""
        counts = self.kind == "statistics" or self.preparation == "common"
        if not counts and self.preparation != "public":
            return
        what = "A Table 1" if self.kind == "statistics" else f"preparation = {self.preparation!r}"
        if not isinstance(self.data, TableSchema):
            raise StudyRejected(f"{what} is for tables; these are images, which a fixed formula prepares.")
        bare = next((one.name for one in self.data.features if isinstance(one, Measured) and one.range is None), None)
        if bare is not None:
            raise StudyRejected(f"{what} needs the range of every column; {bare!r} has none. Give it low and high.")
        if counts and self.privacy is not None and self.dp_noise == "shared":
            raise StudyRejected(f"{what} is paid for with noise of each site's own; with shared noise it cannot be.")

    @property
    def scaled_by(self) -> PreparationName | None:
        """Where fill and scale of a table come from, said by the study or else by its schema; None for images."""
        if not isinstance(self.data, TableSchema):
            return None
        return self.preparation or ("site" if self.data.scaling == "site" else "public")

    def _require_sound_sums(self) -> None:
        """Under shared noise: sums that can be opened, and units that the data knows."""
        least = self.dp_contributors or fewest_contributors(self.cohort_size)
        if self.dp_noise == "shared" and self.min_cohort < least:
            raise StudyRejected(
                f"min_cohort = {self.min_cohort}, and shared noise is planned for {least} contributors "
                "(dp_contributors): rounds of fewer would be paid for and never opened. Raise min_cohort."
            )
        if self.dp_unit == "person" and getattr(self.data, "person", None) is None:
            raise StudyRejected(
                "dp_unit = person needs a schema that says whose a record is (person = ...); name that column, or "
                "choose record or site."
            )

    def _require_sound_records(self) -> None:
        if self.records and self.privacy is None:
            raise StudyRejected("records are declared in studies with a privacy budget; give one, or leave them out.")
        for site in self.persons:
            self.index(site)
        for site, count in self.records.items():
            self.index(site)
            if count > self.largest_site:
                raise StudyRejected(
                    f"{site!r} declares {count:,} training records, more than largest_site = {self.largest_site:,}; "
                    "raise it, for it bounds what any site weighs."
                )

    def _require_results_that_hide(self) -> None:
        if self.metrics == "none":
            return
        if self.data.label_is.kind != "class":
            raise StudyRejected(
                "Test results are summed on a grid from 0 to 1, of classifications; leave out --metrics."
            )
        if self.privacy is not None and self.dp_noise == "shared":
            raise StudyRejected(
                "Test results are paid for with noise of each site's own; with shared noise they stay. Leave out "
                "--metrics."
            )
        if self.privacy is not None and self.scaled_by == "site":
            raise StudyRejected(
                "Rows are prepared with each site's own means and deviations, so that one record moves the results of "
                "others: such results stay. Choose preparation public or common, or leave out --metrics."
            )
        if self.keys == "joint":
            raise StudyRejected("Test results are summed under the cohort key; with joint keys, leave out --metrics.")
        if len(self.roster) < SMALLEST_SUM:
            raise StudyRejected(
                f"Test results are summed over at least {SMALLEST_SUM} sites: sums over fewer show each the others'; "
                f"this study has {len(self.roster)}. Leave out --metrics."
            )

    def declared(self, site: SiteId) -> int:
        """A site's number of training records, n, as a private study has it: public, and never counted."""
        return self.records.get(site, self.largest_site)

    def declared_units(self, site: SiteId) -> int:
        """How many of what the budget protects one of a site declares: records, persons, or itself."""
        match self.dp_unit:
            case "record":
                return self.declared(site)
            case "person":
                return self.persons.get(site, self.declared(site))
            case "site":
                return 1

    @property
    def coordinator_keys(self) -> SitePublicKeys:
        return read_keys(self.coordinator)

    @property
    def sites_keys(self) -> tuple[SitePublicKeys, ...]:
        """The roster in its order, which is the order of sites everywhere: cohorts and random streams count by it."""
        return tuple(read_keys(text) for text in self.roster)

    @property
    def sites(self) -> tuple[SiteId, ...]:
        return tuple(keys.name for keys in self.sites_keys)

    @property
    def keys_by_name(self) -> dict[SiteId, SitePublicKeys]:
        """As `sapefl_crypto.keys.signing.verify_signer` takes it."""
        return {keys.name: keys for keys in self.sites_keys}

    @property
    def cohort_size(self) -> int:
        return cohort_size(self.participation, len(self.roster))

    @property
    def canonical(self) -> bytes:
        values = self.model_dump(mode="json", exclude_none=True)
        values = {name: value for name, value in values.items() if _SINCE_0_1.get(name) != value}
        return bind("sapefl study", json.dumps(values, sort_keys=True, separators=(",", ":")))

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical).hexdigest()

    @property
    def wire_name(self) -> str:
        """What frames, tags and ledgers call the study: nothing made for another study, or another version, fits."""
        return f"{self.name}:{self.digest}"

    def index(self, site: SiteId) -> int:
        """A site's place on the roster."""
        if site not in self.sites:
            raise StudyRejected(
                f"Site {site!r} is not on the roster of {self.name!r}: {', '.join(self.sites)}. If it should be, ask "
                "the coordinator for a study that names it."
            )
        return self.sites.index(site)

    @property
    def _public(self) -> PublicFacts:
        persons = {site: self.declared_units(site) for site in self.sites} if self.dp_unit == "person" else {}
        rows = {site: self.declared(site) for site in self.sites}
        return PublicFacts(rows=rows, persons=persons, classes=self.data.label_names)

    def config(self, dataset: str = "study") -> Config:
        """The same study for the simulator, which is given the sites' rows as a federation (`site_data.federation`)."""
        agreed = {name: getattr(self, name) for name in Plan.model_fields}
        return Config(
            **agreed,
            **({} if self.privacy is None else _mechanism(self.privacy) | {"dp_public": self._public}),
            dataset=dataset,
            clients=len(self.roster),
            partition="natural",
            protection="ckks",
        )


def read_study(path: Path) -> StudyFile:
    """The study in ``path``, if its coordinator signed every value of it and this release can run it."""
    study = read_signed(path)
    if study.package.split(".")[:2] != __version__.split(".")[:2]:  # with other code, sites would compute other sums
        raise StudyRejected(
            f"{path} was made for secure-sapefl {study.package}, this is {__version__}. Install that release, or ask "
            "the coordinator for a new study."
        )
    return study


def read_signed(path: Path) -> StudyFile:
    """The same for a study that is only looked at, perhaps one of an earlier release."""
    return parse_study(read_toml(path), str(path))


def parse_study(values: Mapping[str, Any], where: str) -> StudyFile:
    fields = dict(values)
    signature = _signature(fields.pop("signature", None), where)
    try:
        study = StudyFile.read(fields, where)
    except BadInput as error:
        raise StudyRejected(str(error)) from None
    try:
        verify_document(study.coordinator_keys, study.canonical, signature, kind=_KIND)
    except FrameRejected as error:
        raise StudyRejected(f"{where}: {error}") from None
    return study


def signed_text(study: StudyFile, coordinator: SiteIdentity) -> str:
    """The content of `study.toml`."""
    if coordinator.public != study.coordinator_keys:
        raise StudyRejected(
            f"The study names {study.coordinator_keys.fingerprint} as its coordinator's key, this key is "
            f"{coordinator.public.fingerprint}; sign with the other one, or make the study anew."
        )
    signature = base64.b64encode(sign_document(coordinator, study.canonical, kind=_KIND)).decode()
    values = study.model_dump(mode="json", exclude_none=True)
    return f"# digest {study.digest}\n" + tomli_w.dumps({"signature": signature, **values})


def require_expected(study: StudyFile, *, fingerprint: str | None = None, digest: str | None = None) -> None:
    """Refuse a study of another coordinator, or another version of it, than somebody was told of."""
    found = study.coordinator_keys.fingerprint
    if fingerprint is not None and fingerprint.strip().lower() != found:
        raise StudyRejected(
            f"The study was signed by a key with fingerprint {found}, not {fingerprint}. Somebody else may have made "
            "it: ask the coordinator, over a channel you trust."
        )
    if digest is not None and not study.digest.startswith(digest.strip().lower()):
        raise StudyRejected(
            f"The study has digest {study.digest}, not {digest}; it is another one, or another version."
        )


def _signature(text: object, where: str) -> bytes:
    if not isinstance(text, str):
        raise StudyRejected(f"{where} carries no signature. Ask the coordinator for the file `study new` wrote.")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise StudyRejected(
            f"{where}: the signature was damaged on its way. Ask the coordinator for it again."
        ) from None


def _mechanism(privacy: PrivacyTerms) -> dict[str, Any]:
    return {
        "dp_epsilon": privacy.epsilon,
        "dp_delta": privacy.delta,
        "dp_clip": privacy.clip,
        "dp_score_fraction": privacy.score_fraction,
        "dp_secure_noise": privacy.noise == "secure",
    }

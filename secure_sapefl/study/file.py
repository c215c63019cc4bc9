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
from typing import Annotated, Any, Final, Literal, Self

import tomli_w
from pydantic import Field, field_validator, model_validator

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import sign_document, verify_document
from secure_sapefl import __version__
from secure_sapefl.config import Config, Plan, PublicFacts, read_toml
from secure_sapefl.data.tables.schema import Schema, read_schema
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.protocol.study import cohort_size
from secure_sapefl.study.roster import SMALLEST_ROSTER, PublicKey, read_keys, require_distinct, require_free_names
from secure_sapefl.study.settings import PrivacyTerms, StudySettings

_KIND: Final = "study"
_SINCE_0_1: Final[Mapping[str, object]] = {
    "scores": "open",
    "keys": "shared",
    "colluders": 1,
    "records": {},
    "dp_noise": "local",
    "dp_unit": "record",
    "dp_colluders": 1,
    "dp_optimizer": "momentum",
}
"""What later releases added, at the value that 0.1 had without saying so: its studies keep their digest."""


class StudyFile(StudySettings):
    """`study.toml` without its signature. Everything in it is public."""

    package: str = Field(__version__, max_length=64, pattern=r"^[0-9A-Za-z.+_-]+$")
    coordinator: PublicKey
    roster: Annotated[tuple[PublicKey, ...], Field(min_length=SMALLEST_ROSTER)]
    metrics: Literal["none"] = "none"  # no message of this release carries a test result
    data: Schema = Field(discriminator="kind")

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
        self._require_sound_records()
        return self

    def _require_sound_records(self) -> None:
        if self.records and self.privacy is None:
            raise StudyRejected("records are declared in studies with a privacy budget; give one, or leave them out.")
        for site, count in self.records.items():
            self.index(site)
            if count > self.largest_site:
                raise StudyRejected(
                    f"{site!r} declares {count:,} training records, more than largest_site = {self.largest_site:,}; "
                    "raise it, for it bounds what any site weighs."
                )

    def declared(self, site: SiteId) -> int:
        """A site's number of training records, n, as a private study has it: public, and never counted."""
        return self.records.get(site, self.largest_site)

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
            raise StudyRejected(f"Site {site!r} is not on the roster of {self.name!r}: {', '.join(self.sites)}.")
        return self.sites.index(site)

    @property
    def _public(self) -> PublicFacts:
        return PublicFacts(rows={site: self.declared(site) for site in self.sites}, classes=self.data.classes)

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

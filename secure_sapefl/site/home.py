"""A site's folder: everything it owns, in one place that nobody else may enter.

site.toml           name, and where the records lie (they are not copied)
identity.key        who the site is
policy.toml         what its owner allows
cohort/NAME.key     the cohort key of the study called NAME
privacy.jsonl       and privacy.head: every differentially private release, over all studies
ledger.jsonl, .head every message and decision, over all studies
studies/DIGEST/     study.toml as approved, consent.json, state.npz, rows.sha256
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tomli_w

from sapefl_crypto.keys.custody import identity_from, identity_record, open_copy, require_fingerprint
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.keyfile import KeyRecord, Kind, inspect_key, read_key, write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.config import Settings, read_toml
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.site.policy import TEMPLATE, Policy
from secure_sapefl.storage.files import make_private_folder, require_private_folder, write_private
from secure_sapefl.study.file import StudyFile, read_signed
from secure_sapefl.study.settings import StudyName

if TYPE_CHECKING:
    from sapefl_crypto import CohortKey, Parameters
    from sapefl_crypto.joint.tags import TagRoot

_SITE: Final = "site.toml"
_POLICY: Final = "policy.toml"
_LEDGER: Final = "ledger.jsonl"
ROTATION: Final = "rotation"  # files of a new key (ledger/rotation.py), until they have taken their places


class About(Settings):
    """`site.toml`."""

    name: str
    data: Path
    public: str


class _CohortStudy(Settings):
    """The name in a cohort key's label becomes a file name, so it is held to the same rule as a study's."""

    study: StudyName


def _finish_rotation(path: Path) -> None:
    """Each file takes its place whole; whatever a crash left is done now."""
    aside = path / ROTATION
    if not aside.is_dir():
        return
    for file in sorted(aside.iterdir()):
        file.replace(path / file.name)
    aside.rmdir()


class SiteHome:
    def __init__(self, path: Path) -> None:
        """A folder made by `create`."""
        self.path = path
        if not (path / _SITE).is_file():
            raise HomeRejected(f"{path} is not a site's folder; make one with `secure-sapefl site init`.")
        require_private_folder(path)
        _finish_rotation(path)
        self.about = About.read(read_toml(path / _SITE), str(path / _SITE))

    @classmethod
    def create(
        cls, path: Path, identity: SiteIdentity, data: Path, policy: str = TEMPLATE, passphrase: Secret | None = None
    ) -> "SiteHome":
        """A new folder; one that holds anything already is left alone. ``policy`` is the text of the owner's file."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise HomeRejected(f"{path} holds something already and was not touched; choose another folder.")
        make_private_folder(path)
        path.chmod(0o700)
        write_key(path / "identity.key", identity_record(identity), passphrase=passphrase)
        write_private(path / _POLICY, policy.encode())
        for folder in ("cohort", "studies"):
            make_private_folder(path / folder)
        LedgerFiles(path / _LEDGER).create(identity)
        about = {"name": identity.public.name, "data": str(data.absolute()), "public": identity.public.to_text()}
        write_private(path / _SITE, tomli_w.dumps(about).encode())
        return cls(path)

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def public(self) -> SitePublicKeys:
        return SitePublicKeys.from_text(self.about.public)

    @property
    def data_path(self) -> Path:
        return self.about.data

    @property
    def identity_path(self) -> Path:
        return self.path / "identity.key"

    @property
    def privacy_path(self) -> Path:
        """The lifetime ledger of differential privacy (`privacy.ledger_file.FileStore`)."""
        return self.path / "privacy.jsonl"

    @property
    def ledger_path(self) -> Path:
        return self.path / _LEDGER

    @property
    def policy_path(self) -> Path:
        return self.path / _POLICY

    def policy(self) -> Policy:
        return Policy.load(self.policy_path)

    def identity(self, passphrase: Secret | None = None) -> SiteIdentity:
        return identity_from(read_key(self.identity_path, Kind.SITE_IDENTITY, passphrase=passphrase))

    # cohort keys

    def take_cohort_key(
        self, sealed: Path, fingerprint: str, passphrase: Secret | None = None, *, replace: bool = False
    ) -> KeyRecord:
        """Open a sealed copy and keep it, if it has the fingerprint the custodian read out."""
        record = open_copy(read_key(sealed, Kind.SEALED_COHORT_COPY), self.identity(passphrase))
        require_fingerprint(record, fingerprint.strip().lower())
        study = _CohortStudy.read({"study": record.about["study"]}, str(sealed)).study
        write_key(self._cohort_path(study), record, passphrase=passphrase, replace=replace)
        return record

    def cohort_fingerprint(self, study: StudyFile) -> str | None:
        """Of the key at hand for a study of this name; None where there is none."""
        path = self._cohort_path(study.name)
        return str(inspect_key(path).about["fingerprint"]) if path.exists() else None

    def require_kind_of_key(self, study: StudyFile) -> None:
        """The key at hand, if there is one, is for keys as the study has them."""
        path = self._cohort_path(study.name)
        if path.exists():
            _require_kind(inspect_key(path).about, study)

    def cohort_key(self, study: StudyFile, params: "Parameters", passphrase: Secret | None = None) -> "CohortKey":
        """The key for a study, planned for exactly its ``params`` (`StudyTerms.params`)."""
        from sapefl_crypto import CohortKey

        key = CohortKey.from_secret(self._cohort_secret(study, passphrase))
        if key.params != params:
            raise HomeRejected(
                f"The cohort key of {study.name!r} is planned for {key.params.max_clients} sites and values up to "
                f"{key.params.max_abs_value:g}, the study for {params.max_clients} and {params.max_abs_value:g}. "
                "Custodian and coordinator must agree: make one of them anew."
            )
        return key

    def tag_root(self, study: StudyFile, passphrase: Secret | None = None) -> "TagRoot":
        """All that the sites of a study with joint keys share."""
        from sapefl_crypto.joint.tags import TagRoot

        return TagRoot.from_secret(self._cohort_secret(study, passphrase))

    def _cohort_secret(self, study: StudyFile, passphrase: Secret | None) -> bytes:
        path = self._cohort_path(study.name)
        if not path.exists():
            raise HomeRejected(
                f"Site {self.name!r} has no cohort key for {study.name!r}. Ask the custodian for a sealed copy and "
                "take it in with `secure-sapefl site key`."
            )
        record = read_key(path, Kind.COHORT_KEY, passphrase=passphrase)
        _require_kind(record.about, study)
        return record.body.reveal()

    def _cohort_path(self, study: str) -> Path:
        return self.path / "cohort" / f"{study}.key"

    # studies

    def study_folder(self, digest: str) -> Path:
        return self.path / "studies" / digest

    def study_path(self, digest: str) -> Path:
        return self.study_folder(digest) / "study.toml"

    def state_path(self, digest: str) -> Path:
        return self.study_folder(digest) / "state.npz"

    def rows_path(self, digest: str) -> Path:
        return self.study_folder(digest) / "rows.sha256"

    def consent_path(self, digest: str) -> Path:
        return self.study_folder(digest) / "consent.json"

    def studies(self) -> Iterator[StudyFile]:
        """Every study this site ever approved, as it was approved."""
        for path in sorted((self.path / "studies").glob("*/study.toml")):
            yield read_signed(path)


def _require_kind(about: Mapping[str, object], study: StudyFile) -> None:
    found = about.get("keys", "shared")
    if found != study.keys:
        raise HomeRejected(
            f"The key at hand for {study.name!r} is for {found} keys, the study has {study.keys} ones. "
            f"Ask the custodian for `keys cohort --keys {study.keys}`."
        )

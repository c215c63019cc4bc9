"""The owner's consent to one study: signed with the site's identity, bound to the study's digest, kept with the study.

Consent is to exactly what was reviewed. A study changed by a byte has another digest, which nobody consented to; a
policy that was tightened since is judged anew before anything starts.
"""

import base64
import hashlib
import json
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.signing import sign_document, verify_document
from secure_sapefl.config import Settings
from secure_sapefl.errors import BadInput, HomeRejected, StudyRejected
from secure_sapefl.protocol.joint.consents import NONCE_BYTES
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.joint.answer import ANSWER
from secure_sapefl.site.ledger.files import SiteLedger
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.review import review_declared, review_site
from secure_sapefl.storage.files import make_private_folder, write_private
from secure_sapefl.study.counting import CountingTerms, any_terms
from secure_sapefl.study.file import StudyFile, read_study
from secure_sapefl.study.terms import StudyTerms

_KIND = "consent"


class Consent(Settings):
    """`consent.json` without its signature."""

    site: str
    study: str
    digest: str
    policy: str  # SHA-256 of policy.toml as it was
    at: str
    code: str | None = None  # SHA-256 of the source that the study carries
    nonce: str = ""  # 64 hexadecimal digits in a study with joint keys: committees are drawn from those of all sites

    @property
    def canonical(self) -> bytes:
        said = self.model_dump(exclude_defaults=True)  # consents of release 0.1.0 have neither
        return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


def approve(home: SiteHome, file: Path, identity: SiteIdentity) -> Consent:
    """Review the study in ``file`` and, where nothing conflicts, put the owner's consent on record."""
    study = read_study(file)
    review_site(home, any_terms(study)).require_no_conflict()
    consent = Consent(
        site=home.name,
        study=study.name,
        digest=study.digest,
        policy=hashlib.sha256(home.policy_path.read_bytes()).hexdigest(),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        code=_code(study),
        nonce=_nonce(home, study),
    )
    signature = base64.b64encode(sign_document(identity, consent.canonical, kind=_KIND)).decode()
    content = json.dumps({**consent.model_dump(exclude_defaults=True), "signature": signature}, indent=2) + "\n"
    with SiteLedger(home.ledger_path, identity) as ledger:
        ledger.append(
            SiteEvent(kind="approved", study=study.digest, note=_note(study), checks={"fits the policy": True})
        )
        make_private_folder(home.study_folder(study.digest))
        _keep_copy(home, study, file)
        write_private(home.consent_path(study.digest), content.encode())
    return consent


def _nonce(home: SiteHome, study: StudyFile) -> str:
    """Of a study approved again the one it had: the site may have committed to it (`protocol/joint/consents.py`)."""
    if study.keys == "shared":
        return ""
    with suppress(StudyRejected, HomeRejected):
        return require_consent(home, study).nonce
    return secrets.token_hex(NONCE_BYTES)


def _code(study: StudyFile) -> str | None:
    return None if study.code is None else study.code.digest


def _note(study: StudyFile) -> str:
    return study.name if study.code is None else f"{study.name}, with its code {study.code.digest}"


def _keep_copy(home: SiteHome, study: StudyFile, file: Path) -> None:
    copy = home.study_path(study.digest)
    write_private(copy, file.read_bytes())
    if read_study(copy) != study:
        raise StudyRejected(f"{file} was changed while it was being approved. Review it again.")


def withdraw(home: SiteHome, study: StudyFile, identity: SiteIdentity) -> None:
    """Take consent back: nothing of the study starts again at this site. What has left cannot be called back."""
    require_consent(home, study)
    with SiteLedger(home.ledger_path, identity) as ledger:
        ledger.append(SiteEvent(kind="withdrawn", study=study.digest, note=study.name))
        home.consent_path(study.digest).unlink()
        for kept in home.study_folder(study.digest).rglob(f"*{ANSWER}*"):  # of a round that is over here now
            kept.unlink()


def require_approved(home: SiteHome, terms: StudyTerms | CountingTerms) -> Consent:
    """What must hold before a site starts a study: its owner consented to it, and it still fits policy and budgets.

    Of a private study by what the site declares: whether it starts must not depend on how many records it has.
    """
    consent = require_consent(home, terms.file)
    review = review_site if terms.file.privacy is None else review_declared
    review(home, terms).require_no_conflict()
    return consent


def require_consent(home: SiteHome, study: StudyFile) -> Consent:
    """The consent to exactly this study, signed by this site; no review."""
    path = home.consent_path(study.digest)
    if not path.exists():
        raise StudyRejected(
            f"Site {home.name!r} has not approved study {study.name!r} with digest {study.digest[:16]}. Review it with "
            "`secure-sapefl site review`, then `secure-sapefl site approve`."
        )
    try:
        fields = json.loads(path.read_bytes())
        signature = base64.b64decode(fields.pop("signature"), validate=True)
        consent = Consent(**fields)
        verify_document(home.public, consent.canonical, signature, kind=_KIND)
    except (ValueError, KeyError, TypeError, AttributeError, BadInput, FrameRejected):
        raise HomeRejected(f"{path} was not signed by this site, or was altered. Approve the study again.") from None
    if (consent.site, consent.digest, consent.code) != (home.name, study.digest, _code(study)):
        raise HomeRejected(f"{path} is consent to another study, or of another site. Approve the study again.")
    return consent

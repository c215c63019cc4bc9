"""Making a site's folder: checked before the first file is written, and a failure leaves nothing behind."""

import shutil
from pathlib import Path

from sapefl_crypto.keys.custody import identity_from, open_copy, require_fingerprint
from sapefl_crypto.keys.keyfile import KeyRecord, Kind, read_key
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import BadInput
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.policy import TEMPLATE, Policy


def set_up(
    home: Path,
    identity: Path,
    data: Path,
    sealed: Path,
    fingerprint: str,
    policy: Path | None,
    passphrase: Secret | None,
) -> tuple[SiteHome, KeyRecord]:
    if not data.exists():
        raise BadInput(f"There is no file {data}; name the site's records, or a folder of images.")
    owner = identity_from(read_key(identity, Kind.SITE_IDENTITY, passphrase=passphrase))
    require_fingerprint(open_copy(read_key(sealed, Kind.SEALED_COHORT_COPY), owner), fingerprint.strip().lower())
    made = SiteHome.create(home, owner, data, _policy_text(policy), passphrase)
    try:
        return made, made.take_cohort_key(sealed, fingerprint, passphrase)
    except BaseException:
        shutil.rmtree(home)  # it was made above, for this site alone
        raise


def _policy_text(path: Path | None) -> str:
    """The owner's file as it is, comments and all, once it reads as a policy."""
    if path is None:
        return TEMPLATE
    Policy.load(path)
    return path.read_text(encoding="utf-8")

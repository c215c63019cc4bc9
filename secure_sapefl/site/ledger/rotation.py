"""A new key for a site that goes on: the same folder, the same policy, the same ledgers, and what was ever spent.

A new folder would forget the lifetime budget. So the old key signs a last entry that names the new one, the head of the
ledger is signed anew, and identity and `site.toml` follow. The new files are made aside and take their places only when
all of them are there; a crash in between is finished when the folder is next opened (`home.py`).
"""

import shutil
from typing import Final

import tomli_w

from sapefl_crypto.keys.custody import identity_record
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.keyfile import write_key
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.home import ROTATION, SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import LedgerFormat, SiteEvent
from secure_sapefl.site.state import SiteState
from secure_sapefl.storage.chained_log import head_path
from secure_sapefl.storage.files import make_private_folder, write_private

_UNFINISHED: Final = ROTATION + ".unfinished"


def rotate(home: SiteHome, old: SiteIdentity, new: SiteIdentity, passphrase: Secret | None = None) -> SiteHome:
    """``home`` with the key ``new``, whose file ``passphrase`` protects. Its studies have to be over, or withdrawn
    from: their rosters name the old one."""
    if new.public.name != home.name:
        raise HomeRejected(f"The new key is of {new.public.name!r}, this site is {home.name!r}. Make one of that name.")
    if new.public == home.public:
        raise HomeRejected("That is the key this site has. Make a new one with `secure-sapefl keys site`.")
    _require_idle(home)
    followed = f"{old.public.fingerprint} is followed by {new.public.fingerprint}"
    with SiteLedger(home.ledger_path, old) as ledger:
        ledger.append(SiteEvent(kind="rotated", message="key", note=followed))
        _stage(home, new, passphrase)
        return SiteHome(home.path)


def _require_idle(home: SiteHome) -> None:
    for study in home.studies():
        state = home.state_path(study.digest)
        over = state.exists() and SiteState.load(state, study=study.digest, site=home.name).over
        if home.consent_path(study.digest).exists() and not over:
            raise HomeRejected(
                f"Study {study.name!r} ({study.digest[:16]}) is approved and not over, and its roster names the old "
                "key. Let it end, or take consent back with `secure-sapefl site withdraw`."
            )


def _stage(home: SiteHome, new: SiteIdentity, passphrase: Secret | None) -> None:
    aside = home.path / _UNFINISHED
    shutil.rmtree(aside, ignore_errors=True)
    make_private_folder(aside)
    head = LedgerFiles(home.ledger_path).read(home.public).head
    signed = LedgerFormat(home.ledger_path, new.public, new).write_head(head)
    write_private(aside / head_path(home.ledger_path).name, signed)
    write_key(aside / home.identity_path.name, identity_record(new), passphrase=passphrase)
    about = home.about.model_dump(mode="json") | {"public": new.public.to_text()}
    write_private(aside / "site.toml", tomli_w.dumps(about).encode())
    aside.replace(home.path / ROTATION)  # from here on it is the new key's folder

"""A site's keys for a study, from the files of its home."""

from pathlib import Path
from typing import TYPE_CHECKING

from sapefl_crypto import Parameters
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.secret import Secret
from secure_sapefl.protocol.joint.consents import nonce_in
from secure_sapefl.protocol.joint.site import JointHolder
from secure_sapefl.site.consent import require_consent
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.joint.answer import ANSWER, AnswerFile
from secure_sapefl.site.joint.claims import SignedClaims
from secure_sapefl.site.joint.consents import SiteNonces
from secure_sapefl.site.keys import JointKeys, SharedKey, SiteKeys, joint_policy
from secure_sapefl.site.ledger.files import LedgerFiles
from secure_sapefl.study.round_terms import RoundTerms

if TYPE_CHECKING:
    from secure_sapefl.site.ledger.study import LedgerWriter


def site_keys(
    home: SiteHome,
    terms: RoundTerms,
    identity: SiteIdentity,
    ledger: "LedgerWriter",
    passphrase: Secret | None,
    folder: Path | None = None,
) -> SiteKeys:
    """``ledger`` is the site's own, open: a member writes there what it signs. ``folder`` is that of the study, unless
    its rounds have another."""
    file, study = terms.file, terms.study
    if isinstance(terms.params, Parameters):
        return SharedKey(home.cohort_key(file, terms.params, passphrase), study)
    events = [entry.event for entry in LedgerFiles(home.ledger_path).read(home.public).entries]
    holder = JointHolder(
        identity=identity,
        root=home.tag_root(file, passphrase),
        ledger=SignedClaims(ledger, file.digest, events),
        policy=joint_policy(home.policy(), study),
    )
    folder = home.study_folder(file.digest) if folder is None else folder
    answers = AnswerFile(folder / ANSWER, home.name)
    if not terms.draws_committees:
        return JointKeys(terms.joint(), holder, answers)
    nonces = SiteNonces(
        identity=identity,
        study=file.wire_name,
        roster=file.keys_by_name,
        own=nonce_in(file.wire_name, bytes.fromhex(require_consent(home, terms.consented).nonce)),
        folder=folder,
    )
    return JointKeys(terms.joint(nonces.known), holder, answers, nonces)

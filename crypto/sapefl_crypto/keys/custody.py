"""How keys reach their owners: a custodian makes the cohort key once and seals one copy for each site.

A sealed copy may travel over any channel, because only its site can open it. Anybody could seal a cohort key of their
own, though, and a server that did so could read everything. So the custodian reads out the cohort key's fingerprint,
and a site uses a copy only if the fingerprint agrees.
"""

from typing import Final

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys, fingerprint
from sapefl_crypto.keys.keyfile import About, KeyRecord, Kind, canonical
from sapefl_crypto.secret import Secret

_RECIPIENT: Final = "site"


def identity_record(identity: SiteIdentity) -> KeyRecord:
    public = identity.public
    about = {"name": public.name, "fingerprint": public.fingerprint, "public": public.to_text()}
    return KeyRecord(kind=Kind.SITE_IDENTITY, about=about, body=Secret(identity.export_secret()))


def identity_from(record: KeyRecord) -> SiteIdentity:
    return SiteIdentity.from_secret(record.body.reveal())


def cohort_record(secret: Secret, *, study: str, parameters: About) -> KeyRecord:
    """The exported cohort key of one study, with the fingerprint by which custodian and sites recognise it."""
    about = {"study": study, "fingerprint": _cohort_fingerprint(secret, study), **parameters}
    return KeyRecord(kind=Kind.COHORT_KEY, about=about, body=secret)


def seal_copy(cohort: KeyRecord, site: SitePublicKeys) -> KeyRecord:
    """A copy of the cohort key that only ``site`` can open; every fact about it is bound to it."""
    about = {**cohort.about, _RECIPIENT: site.name}
    sealed = site.seal_for(cohort.body.reveal(), context=_context(about))
    return KeyRecord(kind=Kind.SEALED_COHORT_COPY, about=about, body=Secret(sealed))


def open_copy(sealed: KeyRecord, identity: SiteIdentity) -> KeyRecord:
    """The cohort key again, at its site. Its fingerprint is computed anew: compare it with the custodian's."""
    recipient, me = sealed.about.get(_RECIPIENT), identity.public.name
    if recipient != me:
        raise KeyRejected(f"This copy was sealed for {recipient!r}, the identity is {me!r}; use that site's copy.")
    secret = Secret(identity.unseal(sealed.body.reveal(), context=_context(sealed.about)))
    facts = {name: fact for name, fact in sealed.about.items() if name not in (_RECIPIENT, "study", "fingerprint")}
    return cohort_record(secret, study=str(sealed.about.get("study")), parameters=facts)


def require_fingerprint(cohort: KeyRecord, expected: str) -> None:
    """Refuse a cohort key other than the one whose fingerprint the custodian read out."""
    found = cohort.about["fingerprint"]
    if found != expected:
        raise KeyRejected(
            f"This cohort key has fingerprint {found}, not {expected}. Somebody else may have made it: ask the "
            "custodian, over a channel you trust, before anything else."
        )


def _cohort_fingerprint(secret: Secret, study: str) -> str:
    """One-way and safe to publish: the secret holds far more than 128 bits of randomness."""
    return fingerprint("sapefl cohort fingerprint", study, secret.reveal())


def _context(about: About) -> bytes:
    return bind("sapefl cohort copy", canonical(about))

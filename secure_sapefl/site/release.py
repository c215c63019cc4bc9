"""The common model of a deployed study, published by one of its sites.

All sites hold one cohort key, and the noise of a release is sized for sixteen under it. So sites share them: each may
publish sixteen divided by their number, at least once. The site's ledger counts, before the file appears. With joint
keys there is no such key, and a sum tells of no other: such a model is published as it is, as often as one likes.
"""

import hashlib
from pathlib import Path

from sapefl_crypto import CohortKey, Parameters
from sapefl_crypto.release import MAX_RELEASES, release_noise
from sapefl_crypto.secret import Secret
from secure_sapefl.engine.published import PublishedModel, described, require_new, require_publishable, scale_of
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.state import SiteState
from secure_sapefl.storage.files import write_whole, writing
from secure_sapefl.study.terms import StudyTerms


def release_from_site(home: SiteHome, terms: StudyTerms, passphrase: Secret | None, out: Path) -> PublishedModel:
    """The model as this site has it by now. The ledger must be free: end the site's agent first."""
    require_new(out)
    require_publishable(terms.blueprint)
    state = _state(home, terms)
    params, digest = terms.params, terms.file.digest
    key = home.cohort_key(terms.file, params, passphrase) if isinstance(params, Parameters) else None
    with SiteLedger(home.ledger_path, home.identity(passphrase)) as ledger, writing(out, "It counts as published."):
        model = _released(terms, state, key, _earlier(home, terms, key))
        content = model.to_bytes()
        ledger.append(
            SiteEvent(
                kind="published",
                study=digest,
                round_index=state.absorbed,
                message=_under(key),
                size=len(content),
                digest=hashlib.sha256(content).hexdigest(),
                note=f"{model.about['release']} of {model.about['allowed_releases'] or 'any number of'} releases",
            )
        )
        write_whole(out, content)
    return model


def _state(home: SiteHome, terms: StudyTerms) -> SiteState:
    path, name = home.state_path(terms.file.digest), terms.file.name
    state = SiteState.load(path, study=terms.file.digest, site=home.name) if path.exists() else None
    if state is None or state.absorbed < 0:
        raise HomeRejected(
            f"Site {home.name!r} has no common model of study {name!r} yet; no round of it is over here."
        )
    return state


def _earlier(home: SiteHome, terms: StudyTerms, key: CohortKey | None) -> int:
    entries = LedgerFiles(home.ledger_path).read(home.public).entries
    earlier = sum(entry.event.kind == "published" and entry.event.message == _under(key) for entry in entries)
    if key is not None and earlier >= _allowed(terms):
        raise HomeRejected(
            f"Site {home.name!r} has published {earlier} models under the cohort key of {terms.file.name!r}. Its sites "
            f"share {MAX_RELEASES} such releases, and this one has had its part. Begin a study with a new key."
        )
    return earlier


def _allowed(terms: StudyTerms) -> int:
    return max(1, MAX_RELEASES // len(terms.file.sites))


def _released(terms: StudyTerms, state: SiteState, key: CohortKey | None, earlier: int) -> PublishedModel:
    rounds, blueprint = state.absorbed + 1, terms.blueprint
    theta = state.theta_global.numpy()[: blueprint.model.parameters]
    noise, allowed, schema = 0.0, None, terms.file.data
    if key is not None:
        theta = key.decode_for_release(theta, decryptions=rounds, earlier_releases=earlier)
        noise, allowed = release_noise(key.params, rounds), _allowed(terms)
    about = described(blueprint, terms.shared, noise=noise, release=earlier + 1, allowed=allowed)
    data = {"shape": schema.shape, "classes": schema.label_names, "preparation": schema.model_dump(mode="json")}
    data |= scale_of(schema.label_is)
    return PublishedModel(theta=theta, about={**about, **data, "rounds": rounds})


def _under(key: CohortKey | None) -> str:
    return "model" if key is None else f"model under cohort key {key.fingerprint}"

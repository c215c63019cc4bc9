"""A cohort key on its way from the custodian to the sites."""

from dataclasses import replace

import pytest

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys.custody import (
    cohort_record,
    identity_from,
    identity_record,
    open_copy,
    require_fingerprint,
    seal_copy,
)
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.keyfile import Kind
from sapefl_crypto.secret import Secret

SITE, OTHER = SiteIdentity.generate("a"), SiteIdentity.generate("b")
COHORT = cohort_record(Secret(b"k" * 64), study="heart", parameters={"max_clients": 4})


def test_identity_round_trip():
    record = identity_record(SITE)
    assert record.kind is Kind.SITE_IDENTITY
    assert record.about["public"] == SITE.public.to_text()
    assert identity_from(record).public == SITE.public


def test_a_copy_opens_at_its_site_with_all_its_facts():
    opened = open_copy(seal_copy(COHORT, SITE.public), SITE)
    assert (opened.kind, opened.about, opened.body.reveal()) == (COHORT.kind, COHORT.about, b"k" * 64)


def test_another_site_cannot_open_it_even_when_renamed():
    sealed = seal_copy(COHORT, SITE.public)
    with pytest.raises(KeyRejected, match="sealed for 'a', the identity is 'b'"):
        open_copy(sealed, OTHER)
    with pytest.raises(KeyRejected, match="cannot open"):
        open_copy(replace(sealed, about={**sealed.about, "site": "b"}), OTHER)


@pytest.mark.parametrize("lie", [{"study": "lung"}, {"max_clients": 400}, {"fingerprint": "0000"}, {"new": 1}])
def test_no_fact_about_a_copy_can_be_changed(lie):
    sealed = seal_copy(COHORT, SITE.public)
    with pytest.raises(KeyRejected, match="cannot open"):
        open_copy(replace(sealed, about={**sealed.about, **lie}), SITE)


def test_a_cohort_key_from_somebody_else_shows_by_its_fingerprint():
    """The attack that base-mode sealing leaves open: the server seals a key it knows, under the custodian's facts."""
    forged = replace(cohort_record(Secret(b"s" * 64), study="heart", parameters={}), about=COHORT.about)
    opened = open_copy(seal_copy(forged, SITE.public), SITE)
    with pytest.raises(KeyRejected, match="ask the custodian"):
        require_fingerprint(opened, str(COHORT.about["fingerprint"]))
    require_fingerprint(open_copy(seal_copy(COHORT, SITE.public), SITE), str(COHORT.about["fingerprint"]))


def test_the_fingerprint_depends_on_study_and_key():
    records = [
        cohort_record(Secret(key), study=study, parameters={}) for key in (b"k", b"s") for study in ("heart", "lung")
    ]
    assert len({record.about["fingerprint"] for record in records}) == 4

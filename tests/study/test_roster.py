"""Every name and key once: whoever held two places would count twice."""

from collections.abc import Callable

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, StudyRejected
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.roster import read_keys, require_distinct

MakeStudy = Callable[..., StudyFile]


def renamed(identity: SiteIdentity, name: bytes) -> str:
    return SiteIdentity.from_secret(identity.export_secret()[: 5 + 64] + name).public.to_text()


def with_foreign_sealing(identity: SiteIdentity, other: SiteIdentity, name: bytes) -> str:
    secret = b"SPID\x01" + identity.export_secret()[5:37] + other.export_secret()[37:69] + name
    return SiteIdentity.from_secret(secret).public.to_text()


def test_every_name_and_key_of_a_roster_is_there_once(
    make_study: MakeStudy, identities: list[SiteIdentity], coordinator: SiteIdentity
) -> None:
    a, b, _ = identities
    ours = a.public.to_text()
    fresh = SiteIdentity.generate("z")
    for other, what in [
        (ours, "name"),
        (SiteIdentity.generate("A").public.to_text(), "name"),
        (renamed(a, b"again"), "signing key"),
        (with_foreign_sealing(fresh, a, b"again"), "sealing key"),
    ]:
        with pytest.raises(BadInput, match=f"have the same {what}"):
            make_study(roster=[ours, b.public.to_text(), other])
    for twin in (coordinator.public.to_text(), renamed(coordinator, b"d")):
        with pytest.raises(BadInput, match="'coordinator' and"):
            make_study(roster=[ours, twin])


def test_different_parties_pass_and_twins_are_named(identities: list[SiteIdentity]) -> None:
    require_distinct([site.public for site in identities])
    with pytest.raises(StudyRejected, match="'a' and 'twin' have the same signing key"):
        require_distinct([identities[0].public, read_keys(renamed(identities[0], b"twin"))])


@pytest.mark.parametrize("name", ["outcome", "Server"])
def test_a_site_is_not_called_what_the_server_calls_something_else(
    make_study: MakeStudy, identities: list[SiteIdentity], name: str
) -> None:
    """A site's sealed model is kept under its name, beside the round's outcome."""
    roster = [*(one.public.to_text() for one in identities), SiteIdentity.generate(name).public.to_text()]
    with pytest.raises(BadInput, match=f"cannot be called '{name}'"):
        make_study(roster=roster)


def test_a_number_of_records_nobody_can_have_is_refused_at_once(make_study: MakeStudy) -> None:
    with pytest.raises(BadInput, match="largest_site"):
        make_study(largest_site=10**26)

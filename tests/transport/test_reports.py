"""A site's signed word on a wrong sum: read as written, and nobody can lend, move or forge one."""

import pytest

from sapefl_crypto import FrameRejected, SiteIdentity
from secure_sapefl.transport.reports import LARGEST_REPORT, Report, digest_of, read_report, write_report

NORTH, EAST = (SiteIdentity.generate(name) for name in ("north", "east"))
ROSTER = {"north": NORTH.public, "east": EAST.public}
STUDY, DIGEST = "trial:0123", digest_of(b"a sum")
WRITTEN = write_report(NORTH, STUDY, 3, DIGEST)


def test_a_report_says_who_found_which_sum_wrong() -> None:
    assert read_report(WRITTEN, ROSTER, STUDY) == Report("north", 3, DIGEST)
    assert digest_of(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("content", "roster", "study"),
    [
        (WRITTEN, ROSTER, "another:0123"),
        (WRITTEN, {"east": EAST.public}, STUDY),
        (WRITTEN, {"north": EAST.public}, STUDY),
        ((4).to_bytes(4, "big") + WRITTEN[4:], ROSTER, STUDY),
        (WRITTEN[:-1] + bytes([WRITTEN[-1] ^ 1]), ROSTER, STUDY),
        (b"", ROSTER, STUDY),
        (WRITTEN + bytes(LARGEST_REPORT), ROSTER, STUDY),
    ],
    ids=["study", "stranger", "another's key", "round", "altered", "nothing", "too long"],
)
def test_it_holds_for_one_study_round_and_site(content: bytes, roster: dict[str, SiteIdentity], study: str) -> None:
    with pytest.raises(FrameRejected):
        read_report(content, roster, study)

"""What leaves a site, in words: everything a message holds, its size, and whether noise hides it."""

from collections.abc import Callable

import pytest

from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.plain_words import exposure, leaving, leaving_once
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
PRIVATE = {"epsilon": 4, "delta": 1e-5}


def test_everything_a_message_holds_is_told(make_study: MakeStudy) -> None:
    parts = {part.field: part for part in leaving(StudyTerms.from_file(make_study(privacy=PRIVATE)))}
    assert list(parts) == ["participation", "update", "similarity_score", "theta_personal"]
    assert all(parts[name].noised for name in ("update", "similarity_score", "theta_personal"))
    assert parts["theta_personal"].size == 4 * 9026
    assert parts["update"].size == 3 * (4096 * 60 // 8 + 64)
    plain = {part.field: part.noised for part in leaving(StudyTerms.from_file(make_study(method="fedavg")))}
    assert plain == {"participation": False, "update": False, "similarity_score": False}


def test_shares_of_a_key_leave_too(make_study: MakeStudy) -> None:
    terms = StudyTerms.from_file(make_study(method="fedavg", keys="joint"))
    *others, shares = leaving(terms)
    assert [part.field for part in others] == ["participation", "update", "similarity_score"]
    assert (shares.field, shares.noised) == ("shares", False)
    assert shares.what.startswith("beside the update, its key in 3 shares, each sealed for one member of the committee")
    counted = StudyTerms.from_file(make_study(method="fedavg", keys="joint", preparation="common"))
    assert "(CKKS), and its key in 3 shares" in leaving_once(counted)[0].what


def test_a_study_that_only_relays_sends_no_update(make_study: MakeStudy) -> None:
    study = make_study(method="fedacs")
    terms = StudyTerms.from_file(study)
    if not terms.blueprint.study.relay_only:
        pytest.skip("fedacs is no longer a method that only relays")
    assert [part.field for part in leaving(terms)] == ["participation", "theta_personal"]


def test_a_score_is_named_for_what_it_counts(make_study: MakeStudy) -> None:
    def score(method: str) -> str:
        (found,) = (part for part in leaving(StudyTerms.from_file(make_study(method=method))) if part.name == "score")
        return found.what

    assert score("sapefl").startswith("how alike this site and its peers are")
    assert score("fedavg").startswith("how much the update counts")


def test_noise_is_said_where_it_is_paid_for(make_study: MakeStudy) -> None:
    for privacy, said in ((PRIVATE, "noise added; paid from the privacy budget"), (None, "no noise added")):
        update = leaving(StudyTerms.from_file(make_study(privacy=privacy)))[1]
        assert (update.field, update.privacy) == ("update", said)


def test_peers_are_named(make_study: MakeStudy) -> None:
    assert exposure(StudyTerms.from_file(make_study())).peers == "all of a, b, c"
    assert "up to 1, drawn anew" in exposure(StudyTerms.from_file(make_study(peers_per_client=1))).peers


def test_what_leaves_in_no_round_is_told_too(make_study: MakeStudy) -> None:
    assert leaving_once(StudyTerms.from_file(make_study())) == ()
    for privacy, kinds in ((None, "sums, sums of squares"), (PRIVATE, "with noise")):
        terms = StudyTerms.from_file(make_study(preparation="common", privacy=privacy))
        (counts,) = leaving_once(terms)
        assert (counts.field, counts.once, counts.noised) == ("counts", True, privacy is not None)
        assert counts.what.startswith("before the first round, counts of 3 columns")
        assert kinds in counts.what
        assert counts.size > 0
        assert [part.field for part in leaving(terms)][:2] == ["participation", "update"]

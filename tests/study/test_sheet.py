"""A study for people: facts, JSON, and the note for a data protection officer."""

import re
from collections.abc import Callable

from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.sheet import data_protection_note, facts, to_json
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.templating import plain

MakeStudy = Callable[..., StudyFile]


def test_a_study_in_words_and_in_json(study: StudyFile) -> None:
    terms = StudyTerms.from_file(study)
    said = r"at most ε 4 at δ 1e-05 for each record of a site, added or removed, and at most ([\d.]+) for one replaced"
    found = re.fullmatch(said + "; noise secure", facts(terms)["privacy"])
    assert found is not None
    assert 6 < float(found[1]) < 10
    assert facts(terms)["neighbours"] == to_json(terms)["neighbours"] == ADJACENCY
    assert facts(terms)["declared"] == "a 100, b 100, c 100 training records; everybody may know these numbers"
    assert ADJACENCY in data_protection_note(terms)
    assert facts(terms)["rounds"] == "2, each with 3 of 3 sites; counts with 2, closes after 600 s"
    document = to_json(terms)
    assert (document["digest"], list(document["sites"])) == (study.digest, ["a", "b", "c"])
    assert [part["field"] for part in document["leaves"]][1] == "update"


def test_the_note_for_a_data_officer_is_filled_in(study: StudyFile, make_study: MakeStudy) -> None:
    note = data_protection_note(StudyTerms.from_file(study))
    for sentence in (
        study.digest,
        study.coordinator_keys.fingerprint,
        "(ε, δ) = (4, 1e-05)",
        "age, sex, chol",
        "Retention",
    ):
        assert sentence in note
    without = data_protection_note(StudyTerms.from_file(make_study(purpose="Find <b>risk</b> | factors")))
    assert "Privacy budget\n\nNone." in without
    assert r"Find \<b\>risk\</b\> \| factors" in without
    trial = make_study(privacy={"epsilon": 4, "delta": 1e-5, "noise": "repeatable"})
    assert "REPEATABLE" in data_protection_note(StudyTerms.from_file(trial))


def test_markdown_shows_text_as_it_is() -> None:
    assert plain("a|b*c_[d](e)<f>&#g") == r"a\|b\*c\_\[d\](e)\<f\>\&\#g"


def test_hidden_scores_are_said_as_such(make_study: MakeStudy) -> None:
    opened, hidden = (StudyTerms.from_file(make_study(scores=scores)) for scores in ("open", "hidden"))
    assert facts(opened)["scores"].startswith("open: the server reads them")
    assert facts(hidden)["scores"].startswith("hidden: each site weighs")
    assert "their scores are known to the server" in data_protection_note(opened)
    assert "scores are known" not in data_protection_note(hidden)
    assert "lies about it" in data_protection_note(hidden)


def test_which_keys_a_study_has_is_said_in_two_sentences(make_study: MakeStudy) -> None:
    for keys, words in (("shared", "All sites share the cohort key."), ("joint", "opens nothing but sums: one site")):
        terms = StudyTerms.from_file(make_study(keys=keys))
        said = facts(terms)["keys"].removeprefix(f"{keys}. ")
        assert words in said
        assert said.count(". ") == 1, "two sentences"
        assert said in data_protection_note(terms)

"""A study held against a site's policy, line by line, in words its owner can decide by."""

from dataclasses import dataclass, replace
from typing import Any

from secure_sapefl.errors import PolicyConflict
from secure_sapefl.privacy.ledger_file import FileStore
from secure_sapefl.site.counting.review import judge_preparation, judge_table
from secure_sapefl.site.data import counts_of_all, load_rows
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.judgement import judge, judge_count
from secure_sapefl.site.policy import Line
from secure_sapefl.site.spending import require_on_record
from secure_sapefl.site.trainer.code_review import code_lines
from secure_sapefl.study.code import CarriedCode
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.terms import StudyTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    study: str  # name
    digest: str
    site: str
    lines: tuple[Line, ...]
    code: CarriedCode | None = None

    @property
    def conflicts(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.verdict == "conflict")

    def require_no_conflict(self) -> None:
        if self.conflicts:
            first = self.conflicts[0]
            raise PolicyConflict(
                f"Study {self.study!r} asks for more than the policy of {self.site!r} allows, in {len(self.conflicts)} "
                f"points; first, {first.topic}: {first.says} (policy: {first.policy}). Ask the coordinator for another "
                "study, or decide to change policy.toml."
            )

    def to_json(self) -> dict[str, Any]:
        lines = [{"topic": x.topic, "says": x.says, "verdict": x.verdict, "policy": x.policy} for x in self.lines]
        code = {} if self.code is None else {"code": {"digest": self.code.digest, "source": self.code.source}}
        return {"study": self.study, "digest": self.digest, "site": self.site, "lines": lines, **code}


def review_site(home: SiteHome, terms: StudyTerms | CountingTerms) -> Review:
    """For the owner, before consent: with the site's own data, which must fit the study's schema. In a private study
    this is the only time that records are counted, and nothing but this screen learns how many there are."""
    if isinstance(terms, CountingTerms):
        counts_of_all(home.data_path, terms)  # the file must fit the schema
        return review_declared(home, terms)
    counted = len(load_rows(home.data_path, terms.file, home.name).train)
    if terms.file.privacy is None:
        return _review(home, terms, counted)
    review = review_declared(home, terms)
    return replace(review, lines=(*review.lines, judge_count(terms.file, home.name, counted)))


def review_declared(home: SiteHome, terms: StudyTerms | CountingTerms) -> Review:
    """A private study by what the site declares, whatever its file holds."""
    return _review(home, terms, terms.file.declared(home.name))


def _review(home: SiteHome, terms: StudyTerms | CountingTerms, rows: int) -> Review:
    with FileStore(home.privacy_path) as store:
        events = store.load()
    require_on_record(home, events)
    who = (_roster(home, terms), _coordinator(terms), _cohort_key(home, terms))
    policy, code = home.policy(), terms.file.code
    if isinstance(terms, CountingTerms):
        lines = (*who, *judge_table(terms, policy, rows, events))
    else:
        carried = () if code is None else code_lines(code, policy, (home.path, home.data_path))
        lines = (*who, *judge(terms, policy, rows, events), *judge_preparation(terms.file), *carried)
    return Review(study=terms.file.name, digest=terms.file.digest, site=home.name, lines=lines, code=code)


def _roster(home: SiteHome, terms: StudyTerms | CountingTerms) -> Line:
    mine = terms.file.keys_by_name.get(home.name)
    return Line.judged(
        "roster",
        f"sites: {', '.join(terms.file.sites)}",
        mine == home.public,
        f"this site is {home.name}, key {home.public.fingerprint}",
    )


def _coordinator(terms: StudyTerms | CountingTerms) -> Line:
    keys = terms.file.coordinator_keys
    says = f"signed by {keys.name}, key {keys.fingerprint}: compare it with the coordinator's, by telephone"
    return Line(topic="coordinator", says=says, verdict="note")


def _cohort_key(home: SiteHome, terms: StudyTerms | CountingTerms) -> Line:
    home.require_kind_of_key(terms.file)
    found = home.cohort_fingerprint(terms.file)
    says = f"at hand, fingerprint {found}" if found else "not here yet; take it in with `site key` before you start"
    topic = "cohort key" if terms.file.keys == "shared" else "root of the tags"
    return Line(topic=topic, says=says, verdict="note")

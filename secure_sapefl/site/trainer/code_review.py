"""What an owner should know of code that a study carries, line by line, before a word about approving it."""

from collections.abc import Iterator
from pathlib import Path

from secure_sapefl.site.policy import Line, Policy
from secure_sapefl.site.trainer.confinement import missing_here, within_reach
from secure_sapefl.study.code import CarriedCode
from secure_sapefl.study.code_reading import imports, in_words, unusual


def code_lines(code: CarriedCode, policy: Policy, kept: tuple[Path, ...]) -> Iterator[Line]:
    """``kept`` are the site's folder and its records, which must not lie where such code can read."""
    says = (
        f"the model is code of the study's author: {code.file}, {code.lines} lines, function {code.function}, SHA-256 "
        f"{code.digest}; it stands below. Approving the study approves this code"
    )
    yield Line.judged("carried code", says, policy.code == "reviewed", f"code = {policy.code}")
    strange = unusual(code.source)
    more = f"; beyond what models are made of: {', '.join(strange)}" if strange else ""
    yield Line(topic="code: imports", says=f"{', '.join(imports(code.source)) or 'nothing'}{more}", verdict="note")
    yield Line(topic="code: reaches for", says=in_words(code.source), verdict="note")
    yield Line(
        topic="code: what it can do",
        says="it sees this site's records and its peers' models, and could hide records in what leaves: in weights, "
        "which the other sites read, and in the score, which the server reads. Neither encryption nor this program "
        "prevents that",
        verdict="note",
    )
    yield _kept_in(policy)
    for path in kept:
        reach = within_reach(path)
        if reach is not None:
            says = f"{path} lies in {reach}, which such code can read; move it"
            yield Line(topic="code: reach", says=says, verdict="conflict", policy="its own folders are out of reach")


def _kept_in(policy: Policy) -> Line:
    lacks = missing_here()
    says = (
        "it trains in a process of its own, kept from files, network, other processes and keys by Landlock and seccomp"
        if not lacks
        else f"this machine lacks {' and '.join(lacks)}: such code is not kept from this site's files and keys"
    )
    allowed = not lacks or policy.code_unconfined
    return Line.judged("code: kept in", says, allowed, f"code_unconfined = {str(policy.code_unconfined).lower()}")

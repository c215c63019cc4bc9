"""All checks of one method, and what they found: the public form of the tests our own methods pass."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from secure_sapefl.algorithms import own
from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.conformance import studies
from secure_sapefl.conformance.private import PRIVATE
from secure_sapefl.conformance.rounds import ROUNDS
from secure_sapefl.privacy.errors import PrivacyWarning

Status = Literal["ok", "fails", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``asks`` is what a check asks for, in a sentence; ``found`` what is wrong, or not there."""

    check: str
    asks: str
    status: Status
    found: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"check": self.check, "asks": self.asks, "status": self.status, "found": list(self.found)}


def conformity(method: str) -> Iterator[Verdict]:
    """Every check of the method that ``method`` names, as they are made; foreign code runs, so anything may be raised
    and counts as found."""
    algorithm = own.algorithm(method)
    for name, check in ROUNDS.items():
        yield _tried(name, check.__doc__, partial(check, algorithm))
    yield _tried("encrypted", studies.encrypted.__doc__, partial(studies.encrypted, method))
    yield from _private_form(method, algorithm)


def _private_form(method: str, algorithm: Algorithm) -> Iterator[Verdict]:
    if isinstance(algorithm.releases, NotPrivate):
        yield Verdict(
            check="private form",
            asks="Studies with a budget can use it.",
            status="missing",
            found=(
                f"no `releases`: {algorithm.releases.reason} Studies with a budget refuse the method. Say there which "
                "trainings and queries pay for what leaves; a method that only trains and sends its update has "
                "releases=one_update",
            ),
        )
        return
    checks: Mapping[str, tuple[str | None, Callable[[], Iterator[str]]]] = {
        **{name: (check.__doc__, partial(check, algorithm)) for name, check in PRIVATE.items()},
        "budgeted": (studies.budgeted.__doc__, partial(studies.budgeted, method)),
    }
    for name, (asks, check) in checks.items():
        yield _tried(name, asks, check)


def _tried(name: str, asks: str | None, check: Callable[[], Iterator[str]]) -> Verdict:
    found: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # of a study too small for its delta
            found += check()
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
    status: Status = "fails" if found else "ok"
    return Verdict(check=name, asks=(asks or "").strip(), status=status, found=tuple(found))

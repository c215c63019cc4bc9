"""Who could read what in this very run, from its method and its protection. Mirrors `protocol/messages.py`."""

from dataclasses import dataclass
from typing import Literal

from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.report.run import Run

Level = Literal["nothing", "sealed", "readable"]


@dataclass(frozen=True, slots=True)
class View:
    """What a party gets: nothing, something it cannot open, or something it reads."""

    level: Level
    how: str


@dataclass(frozen=True, slots=True)
class Sight:
    what: str
    server: View
    other_sites: View


_NEVER_LEAVES = View("nothing", "never leaves its site")
_NOT_SENT = View("nothing", "not sent to them")


def who_sees_what(run: Run) -> tuple[Sight, ...]:
    rows = Sight("Training and test rows", _NEVER_LEAVES, _NEVER_LEAVES)
    if run.silent:
        return rows, Sight("Each site's own model", _NEVER_LEAVES, _NEVER_LEAVES)
    encrypted = run.summary["protection"] == "ckks"
    relayed = _relayed(encrypted) if run.algorithm.relays_models else ()
    if not run.has_global_model:
        return rows, *relayed, _traffic()
    return (
        rows,
        _update(encrypted),
        *relayed,
        _score(run.algorithm, hidden=encrypted and run.config.scores == "hidden"),
        _global_model(encrypted),
        _traffic(),
    )


def _update(encrypted: bool) -> Sight:
    return Sight(
        "One site's update",
        View("sealed", "a CKKS ciphertext it adds to the others; it holds no key")
        if encrypted
        else View("readable", "every number of it"),
        View("nothing", "not sent to them, but all hold the cohort key: with the server's help, one reads all of them")
        if encrypted
        else _NOT_SENT,
    )


def _relayed(encrypted: bool) -> tuple[Sight, ...]:
    return (
        Sight(
            "One site's personal model",
            View("sealed", "a sealed file it passes on")
            if encrypted
            else View("readable", "every number of it, while passing it on"),
            View("readable", "the peers it is passed on to, as the method asks"),
        ),
        Sight(
            "Similarity to each peer",
            _NEVER_LEAVES,
            View("nothing", "a site knows its own row; this simulation logged all rows for the heat map"),
        ),
    )


def _score(algorithm: Algorithm, *, hidden: bool) -> Sight:
    what = "One site's score" if algorithm.relays_models else "One site's weight"
    if hidden:
        return Sight(
            what,
            View("sealed", "encrypted with the update, which its site has weighed"),
            View("nothing", "only the sum of all scores, and that of their squares"),
        )
    return Sight(
        what,
        View("readable", "one number a site and round"),
        View("readable", "the whole-number weight made from it, to check the sum against"),
    )


def _global_model(encrypted: bool) -> Sight:
    server = View("sealed", "an encrypted sum, not the model") if encrypted else View("readable", "every number of it")
    return Sight("The global model", server, View("readable", "all sites of the study, every round"))


def _traffic() -> Sight:
    return Sight(
        "Who took part, when, how many bytes",
        View("readable", "it invites, collects and passes on"),
        View("readable", "names of peers and contributors"),
    )

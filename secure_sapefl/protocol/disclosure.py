"""What each party of a study can see, in words. Reports, reviews, notes and documents are written from this page.

One `Disclosure` for everything there is to see, and every field of a message belongs to one. A test holds the levels
against what a recorded server and recorded sites could really open.
"""

from dataclasses import dataclass
from typing import Final, Literal

from secure_sapefl.algorithms.base import Algorithm, Homomorphic
from secure_sapefl.config import KeyChoice, ProtectionName, ScoreVisibility

Level = Literal["nothing", "sealed", "readable"]
Item = Literal[
    "terms", "rows", "participation", "update", "score", "personal model", "similarities", "global model", "key",
    "shares", "counts", "totals", "results",
]  # fmt: skip

PLAINTEXT: Final = "plaintext: for research speed; the server could read every update and model"
SILENT: Final = "none needed: nothing left a site"
COLLUSION: Final = (
    "All sites share the cohort key. If the server and one site work together, or one site's key is stolen, every "
    "update and every personal model of every site can be read, those of past rounds included."
)


def protection_words(protection: ProtectionName, keys: KeyChoice) -> str:
    """How a run was protected, in a line."""
    if protection == "plaintext":
        return PLAINTEXT
    if keys == "joint":
        return "ckks, joint keys: a key for each update, opened only as a sum, models sealed; the server held no key"
    return "ckks: updates encrypted, models sealed; the server held no key"


def keys_words(keys: KeyChoice, colluders: int) -> str:
    """Which keys an encrypted study uses and what that means, in two sentences."""
    if keys == "shared":
        return COLLUSION
    sites = "one site" if colluders == 1 else f"{colluders} sites"
    return (
        "Every update has a key of its own, which its site makes for one round, and a committee of the sites opens "
        f"nothing but sums: {sites} working with the server can read nobody's update, and a key stolen later opens "
        "none of past rounds. Peers still read the personal models they are given, and the argument for all this has "
        "not been reviewed outside."
    )


def stays(keys: KeyChoice, metrics: Literal["none", "sum"] = "none") -> tuple[str, ...]:
    """What leaves no site. ``metrics`` is what the study does with test results."""
    published = {
        "shared": "The decrypted common model stays with the sites: whoever publishes it without noise may betray the "
        "cohort key. `secure-sapefl release` adds that noise.",
        "joint": "The common model stays with the sites; `secure-sapefl release` writes it for others, and no key can "
        "be learned from it.",
    }
    rows = {
        "none": "Records, labels and test results stay at the site.",
        "sum": "Records and labels stay at the site. Its test results leave only inside an encrypted sum over sites.",
    }
    return (rows[metrics], published[keys])


@dataclass(frozen=True, slots=True)
class View:
    """What a party gets: nothing, something it cannot open, or something it reads. ``does`` goes on from its name."""

    level: Level
    does: str


@dataclass(frozen=True, slots=True)
class Disclosure:
    item: Item
    what: str
    server: View
    sites: View  # the other sites, who hold keys in an encrypted study


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What decides who sees what. ``peers`` says in words which other sites are given a personal model."""

    algorithm: Algorithm
    protection: ProtectionName
    scores: ScoreVisibility
    keys: KeyChoice = "shared"
    colluders: int = 1
    peers: str = "those it is given to as peers"
    counts: bool = False  # sites agree on a preparation by sums before the first round
    results: bool = False  # test results leave as a sum after the last one

    @property
    def encrypted(self) -> bool:
        return self.protection == "ckks"

    @property
    def jointly(self) -> bool:
        return self.encrypted and self.keys == "joint"

    @property
    def hidden_scores(self) -> bool:
        """Hidden inside an update, which has to be encrypted for that."""
        return self.encrypted and self.scores == "hidden"

    def disclosures(self) -> tuple[Disclosure, ...]:
        """Everything there is to see in a study of this kind."""
        if self.algorithm.homomorphic is Homomorphic.SILENT:
            counted = (_counts(self), _totals(self), _key(self)) if self.counts else ()
            return (_ROWS, *counted, _stays("personal model", "A site's own model"))
        adds = self.algorithm.homomorphic is Homomorphic.WEIGHTED_SUM
        return (
            _TERMS,
            _ROWS,
            *((_counts(self), _totals(self)) if self.counts else ()),
            _PARTICIPATION,
            *((_update(self), _score(self)) if adds else ()),
            *(
                (_personal_model(self), _stays("similarities", "How much a site resembles each of its peers"))
                if self.algorithm.relays_models
                else ()
            ),
            *((_global_model(self),) if adds else ()),
            _key(self),
            *((_SHARES,) if adds and self.jointly else ()),
            *((_RESULTS,) if self.results and self.encrypted else ()),
        )

    def not_protected(self) -> tuple[str, ...]:
        """What a site's owner has to know before saying yes to an encrypted study."""
        if self.hidden_scores:
            return (
                COLLUSION,
                "The names of the sites and the rounds they took part in are known to the server.",
                "Nobody can hold a site to its score: one that lies about it counts for as much as it likes.",
            )
        known = "The names of the sites, the rounds they took part in and their scores are known to the server."
        return (COLLUSION, known) if self.keys == "shared" else (*_beyond(self), known)


def _beyond(study: Exposure) -> tuple[str, ...]:
    """What joint keys do not give."""
    sites = "one site" if study.colluders == 1 else f"{study.colluders} sites"
    follows = ", from which these sites' updates follow" if study.algorithm.shows_updates else ""
    return (
        f"More than {sites} working with the server may read other sites' updates in the rounds in which they do so; "
        "earlier rounds stay closed.",
        "A site that works with the server shows it the sums, and the personal models that this site was given"
        f"{follows}.",
    )


def _stays(item: Item, what: str, them: str = "it") -> Disclosure:
    """Whatever no message holds."""
    return Disclosure(item, what, View("nothing", f"is not sent {them}"), View("nothing", f"are not sent {them}"))


_TERMS: Final = Disclosure(
    "terms",
    "The study: names of its sites, seed, options, size of the model",
    View("readable", "reads it"),
    View("readable", "read it"),
)
_ROWS: Final = _stays("rows", "A site's training and test rows", "them")
_PARTICIPATION: Final = Disclosure(
    "participation",
    "Which rounds a site takes part in",
    View("readable", "sees it, with the size and time of every message"),
    View("readable", "see the names of those who took part"),
)
_SHARES: Final = Disclosure(
    "shares",
    "The shares of a site's key of a round",
    View("sealed", "passes them on, one to each member of the committee, without being able to open them"),
    View("sealed", "see one each where they are members, which by itself tells nothing"),
)
_RESULTS: Final = Disclosure(  # of deployed studies, which are encrypted
    "results",
    "A site's results on its own test rows",
    View("sealed", "adds them to the others' without being able to read them, and is told the sum by sites"),
    View("nothing", "are sent only the sum over at least four sites"),
)


def _server(study: Exposure, sealed: str, readable: str) -> View:
    """What the server gets of something that encryption keeps from it."""
    return View("sealed", sealed) if study.encrypted else View("readable", readable)


def _counts(study: Exposure) -> Disclosure:
    """Before the first round, by the protocol of an update: whoever could read the one could read the other."""
    stolen = (
        "; with the server's help, one of them reads them by the cohort key they all hold" if study.encrypted else ""
    )
    if study.jointly:
        stolen = "; a committee of them opens them, and without two thirds of that committee nobody reads anything else"
    return Disclosure(
        "counts",
        "A site's counts of its columns, and without a budget their sums and squares, for a common preparation",
        _server(
            study,
            "adds them to the others' without being able to read them; it has no key",
            "reads every number of them",
        ),
        View("nothing", f"are sent only the totals over all sites, and check that they are that{stolen}"),
    )


def _totals(study: Exposure) -> Disclosure:
    return Disclosure(
        "totals",
        "The totals of these counts over all sites",
        _server(study, "has an encrypted sum, not the totals", "reads them: it has added them up"),
        View("readable", "read them, once; with two sites, each can tell the other's"),
    )


def _update(study: Exposure) -> Disclosure:
    stolen = "; with the server's help, one of them reads it by the cohort key they all hold" if study.encrypted else ""
    if study.jointly:
        stolen = "; a committee of them opens it, and without two thirds of that committee nobody reads anything else"
    adds = "adds it to the others' without being able to read it; it has no key"
    only = View("nothing", f"are sent only the sum over the cohort, and check that it is that sum{stolen}")
    if study.algorithm.shows_updates:
        only = View("readable", f"can compute it from the site's model, where they are given that: {study.peers}")
    return Disclosure("update", "A site's update", _server(study, adds, "reads every number of it"), only)


def _score(study: Exposure) -> Disclosure:
    what = "A site's score" if study.algorithm.relays_models else "A site's weight"
    if study.hidden_scores:
        inside = "cannot read it: it is encrypted with the update, which the site has weighed by it"
        sums = View("nothing", "read the sum of all scores of a round, and that of their squares")
        return Disclosure("score", what, View("sealed", inside), sums)
    if study.scores == "hidden":
        reads = View("readable", "reads it, inside the update")
        return Disclosure("score", what, reads, View("nothing", "are not sent it"))
    weight = View("readable", "read the whole-number weight made from it, to check the sum")
    return Disclosure("score", what, View("readable", "reads it, one number a round"), weight)


def _personal_model(study: Exposure) -> Disclosure:
    passes, reads = "passes it on without being able to open it", "reads every number of it, while passing it on"
    peers = View("readable", f"can read it: {study.peers}")
    return Disclosure("personal model", "A site's personal model", _server(study, passes, reads), peers)


def _global_model(study: Exposure) -> Disclosure:
    follows = "follows it: it starts from the seed, and moves by sums the server reads"
    server = _server(study, "has an encrypted sum a round, not the model", follows)
    return Disclosure("global model", "The global model", server, View("readable", "read it, every round"))


def _key(study: Exposure) -> Disclosure:
    never = View("nothing", "is never given it")
    if study.jointly:
        own = "have keys of their own; all they share is the root of the tags, which opens nothing"
        return Disclosure("key", "A site's key of a round", never, View("nothing", own))
    if study.encrypted:
        return Disclosure("key", "The cohort key", never, View("readable", "hold it, all the same one"))
    none = "none: there is no key in a plaintext study"
    return Disclosure("key", "The cohort key", View("nothing", f"has {none}"), View("nothing", f"have {none}"))

"""What a site's owner allows, whatever a study asks for. The file is the owner's, and says every value itself; only
what later releases added has a cautious default, so that an upgrade does not stop a site.

A study is held against it before the owner approves (`review.py`), and each aggregate before it is used
(`Policy.claims`).
"""

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from secure_sapefl.config import Settings, read_toml
from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.protocol.study import LARGEST_WEIGHT_RATIO

if TYPE_CHECKING:
    from sapefl_crypto import ClaimPolicy, OwnPart

Verdict = Literal["ok", "conflict", "note"]
_ADJACENT: Final = fill(ADJACENCY, 118, initial_indent="# ", subsequent_indent="# ")

TEMPLATE: Final = f"""\
# What this site allows, whatever a study asks for. Only the site's owner edits this file; a change takes effect when
# a study is next started. `secure-sapefl site review study.toml` holds a study against it, line by line.

# Differential privacy: the most one study may cost each patient, and the most all studies together may, ever.
# Smaller is safer; 1 is strong, 8 is weak. A delta is a chance of failure: keep it far below 1 / number of records.
{_ADJACENT}
# These limits are for a record added or removed; for one replaced it is about twice as much, as `site review` says.
max_epsilon_per_study = 4.0
max_epsilon_lifetime = 8.0
max_delta_per_study = 1e-5
max_delta_lifetime = 1e-5

# Shared noise: a study may hide this site's records by the noise of all its sites together. That holds as long as
# enough of them are honest. Both lines must be here for such a study to be accepted: the most it may cost each record
# for readers of opened sums, and how many others must be honest at the least. Without them, only noise of this site's
# own counts, as above. The limit over all studies then counts shared noise where so many others are honest.
# max_epsilon_shared = 2.0
# min_honest_sites = 10

# May a study run without differential privacy? Then what leaves is encrypted, but peers' models may betray records.
without_privacy = false

# May noise come from the study's seed? Whoever has the study file can then subtract it: only for trials on mock data.
repeatable_noise = false

# A sum hides a site only among others: how many must be in it, how many must count as if equal, and the largest part
# one site may have in it (0.6 is 60 %).
min_cohort = 3
min_effective_cohort = 2.0
max_share = 0.6

# Sums are exact: under very unequal weights, small values can be told apart again. The largest weight in a sum may be
# so many times the smallest.
max_weight_ratio = 100.0

# A score is a sum of resemblances to peers; of one peer, it is that very number. With fewer peers' models than this,
# the site sends a score of 0, which counts for nothing and says nothing.
min_peers = 2

# A sum may be wrong because one hostile site spoilt it. So many wrong sums this site reports and leaves unused while
# the coordinator looks for the author by leaving sites out; at the last it halts until its owner says otherwise.
max_rejected_sums = 8

# Methods this site takes part in; `secure-sapefl methods` explains them.
methods = ["sapefl", "fedavg", "fedavg-ft", "fedprox", "ditto", "lcfed"]

# May this site's results on its own test records leave? false: they stay. "sum": only inside an encrypted sum over at
# least four sites and min_cohort, once, after the last round; the coordinator is told mean and spread, nobody's own.
# In a private study with noise that its budget pays for, and only of the common model.
metrics_may_leave = false

# After every round this site judges its model on test records it holds back; only this site sees the result. Name
# columns of its table to judge each group apart: "sex" is a group for each level, "age < 65" one on either side.
judge_by = []
# May this site tell the coordinator the Table 1 of a study of kind statistics, as it opened it, small cells left out?
tables_may_leave = false

# May the other sites of a study read this site's personal model? SAPE-FL needs it.
peers_may_receive_model = true

# A study may bring the source code of its model. "never": this site takes no part in such a study. "reviewed": it may,
# once its owner has read the code (`site review` prints it) and approved it. Such code trains in a process of its own,
# without keys, files or network. It sees records, and could hide some in what it sends: approve what you understand.
code = "never"

# The process of such code needs Landlock and seccomp of Linux, or it is not run. May it run without them?
code_unconfined = false

# A user of this machine that such code runs as, where the site is started by root.
# code_user = "sapefl-trainer"
"""


class Policy(Settings):
    max_epsilon_per_study: float = Field(gt=0)
    max_epsilon_lifetime: float = Field(gt=0)
    max_delta_per_study: float = Field(gt=0, lt=1)
    max_delta_lifetime: float = Field(gt=0, lt=1)
    without_privacy: bool
    repeatable_noise: bool
    min_cohort: int = Field(ge=1)
    min_effective_cohort: float = Field(ge=1)
    max_share: float = Field(gt=0, le=1)
    max_weight_ratio: float = Field(LARGEST_WEIGHT_RATIO, ge=1)
    min_peers: int = Field(2, ge=1)
    max_rejected_sums: int = Field(8, ge=1)
    methods: tuple[str, ...]
    metrics_may_leave: bool | Literal["sum"]
    peers_may_receive_model: bool
    judge_by: tuple[str, ...] = ()
    tables_may_leave: bool = False
    max_epsilon_shared: float | None = Field(None, gt=0)
    min_honest_sites: int | None = Field(None, ge=1)
    code: Literal["never", "reviewed"] = "never"
    code_unconfined: bool = False
    code_user: str | None = None

    @property
    def least_honest(self) -> int | None:
        """How many others' noise the owner trusts in at least; None where each study must hide this site by its own."""
        return None if self.max_epsilon_shared is None else self.min_honest_sites

    @classmethod
    def load(cls, path: Path) -> "Policy":
        return cls.read(read_toml(path), str(path))

    def claims(self, own: "OwnPart | None" = None, least_contributors: int = 1) -> "ClaimPolicy":
        """The conditions on every aggregate; ``own`` is what this site sent in that round.

        Where sites share their noise, ``least_contributors`` must be in a sum, all of the same weight: noise that
        counts for less hides less.
        """
        from sapefl_crypto import ClaimPolicy

        return ClaimPolicy(
            min_cohort=max(self.min_cohort, least_contributors),
            min_effective_cohort=self.min_effective_cohort,
            max_share=self.max_share,
            max_weight_ratio=self.max_weight_ratio if least_contributors == 1 else 1.0,
            own=own,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One point of a study, and whether the owner's policy allows it."""

    topic: str
    says: str
    verdict: Verdict
    policy: str = ""  # what the owner's file says about it

    @classmethod
    def judged(cls, topic: str, says: str, fits: bool, policy: str) -> "Line":
        return cls(topic=topic, says=says, verdict="ok" if fits else "conflict", policy=policy)

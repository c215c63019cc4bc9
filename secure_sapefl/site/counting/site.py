"""A site's half of a round of counts, as an agent takes part in it (`study/counting.py`).

Its state holds the opened total in place of a model: what an agent keeps, hands in again after a crash and checks is
the same as in a round of training.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.table_one import table_one
from secure_sapefl.privacy.events import TABLE_ONE
from secure_sapefl.protocol.counting import counts_answer, opened_totals
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SiteId
from secure_sapefl.protocol.sums import Counts
from secure_sapefl.site.counting.privacy import CountPrivacy
from secure_sapefl.site.keys import SiteKeys
from secure_sapefl.site.policy import Policy
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.counting import CountingTerms


class CountingSite:
    """``count`` gives the site's exact counts, when they are asked for."""

    def __init__(
        self,
        terms: CountingTerms,
        name: SiteId,
        count: Callable[[], Counts],
        keys: SiteKeys,
        policy: Policy,
        privacy: CountPrivacy | None,
    ) -> None:
        self._terms, self._count, self.keys = terms, count, keys
        self.name, self.policy, self.privacy = name, policy, privacy

    def load_state(self, path: Path) -> SiteState:
        about = self._terms.file.digest
        if path.exists():
            return SiteState.load(path, study=about, site=self.name)
        nothing = torch.empty(0, dtype=torch.int64)
        return SiteState(study=about, site=self.name, absorbed=-1, answered=-1, theta_global=nothing, own={})

    def absorb(self, state: SiteState, outcome: RoundOutcome, sent: RoundUpload | None) -> Tensor:
        """The total, or `AggregateRejected`; a round without a sum leaves what was there, which is nothing."""
        codec = self.keys.sums(self.policy, sent)
        opened = opened_totals(outcome, codec, self._terms.study, self._terms.params)
        if opened is None:
            return state.theta_global
        senders = len(outcome.weights)
        totals = opened if self._terms.multiplier is None else self._terms.noise.total(opened, senders)
        return torch.from_numpy(np.concatenate([[senders], totals]).astype(np.int64))

    def take_part(
        self,
        state: SiteState,  # noqa: ARG002 - what was there before decides nothing
        invitation: Invitation,
    ) -> tuple[RoundUpload | None, dict[str, Tensor], tuple[Refusal, ...]]:
        counts = self._count()
        if self.privacy is not None:
            counts = self.privacy.noised(counts)
        answer = counts_answer(counts, self.name, self._terms.study, self._terms.params)
        return self.keys.protect(answer, invitation), {}, ()

    def table(self, state: SiteState) -> bytes | None:
        """What the coordinator may be told of a Table 1: the very bytes that every site makes of the same total."""
        found, payer = opened(state), self._terms.payer
        if found is None or self._terms.release != TABLE_ONE or not isinstance(payer.data, TableSchema):
            return None
        made = table_one(found[1], payer.data, payer.smallest_cell, noised=self._terms.multiplier is not None)
        return json.dumps(made.to_json() | {"sites_in_the_sum": found[0]}, sort_keys=True, ensure_ascii=False).encode()

    def late_start(self, state: SiteState) -> dict[str, Tensor]:  # noqa: ARG002 - it has no model
        return {}

    def join_late(self, state: SiteState, invitation: Invitation) -> tuple[dict[str, Tensor], tuple[Refusal, ...]]:  # noqa: ARG002
        return {}, ()


def opened(state: SiteState) -> tuple[int, Counts] | None:
    """Over how many sites the total is, and the total; None where there is none yet, or was none to be had."""
    found = state.theta_global.numpy()
    return (int(found[0]), found[1:]) if len(found) else None

"""Private forms: nothing that leaves reads records past the mechanisms, of any method of ours; and ways to cheat."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Contribution, Homomorphic
from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
from secure_sapefl.algorithms.group import SiteGroup
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.algorithms.releases import NotPrivate, PrivateQuery, Releases, one_update
from secure_sapefl.conformance.private import PRIVATE
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss

METHODS = {name: one for name, one in ALGORITHMS.items() if not isinstance(one.releases, NotPrivate)}


@pytest.mark.parametrize("check", PRIVATE.values(), ids=PRIVATE)
@pytest.mark.parametrize("algorithm", METHODS.values(), ids=METHODS)
def test_our_methods_keep_what_their_releases_say(algorithm: Algorithm, check: Any) -> None:
    assert list(check(algorithm)) == []


def found(check: str, algorithm: Algorithm) -> str:
    return " | ".join(PRIVATE[check](algorithm))


def update_of(group: SiteGroup, update: Tensor, score: Tensor | None = None, **state: Tensor) -> Contribution:
    return Contribution(state=state, update=update, score=group.row_counts if score is None else score)


def around_the_mechanism(group: SiteGroup, _: Any) -> Contribution:
    theta = replace(group, private=None).train_local()
    return update_of(group, theta - group.theta_global)


def called_what_stays(group: SiteGroup, _: Any) -> Contribution:
    theta = group.train(group.everywhere(group.theta_global), LocalLoss(), Purpose.LOCAL_BATCHES, leaves=False)
    return update_of(group, theta - group.theta_global)


def counts_its_records(group: SiteGroup, _: Any) -> Contribution:
    counted = torch.tensor(group.shard.sizes, dtype=torch.float32)
    return update_of(group, group.train_local() - group.theta_global, counted)


def a_mean_of_the_rows(group: SiteGroup, _: Any) -> Contribution:
    update = group.train_local() - group.theta_global
    return update_of(group, update + group.outputs(group.everywhere(group.theta_global)).mean((1, 2)).unsqueeze(1))


@pytest.mark.parametrize("cheat", [around_the_mechanism, called_what_stays, counts_its_records, a_mean_of_the_rows])
def test_what_passes_the_mechanisms_by_is_found(cheat: Any) -> None:
    message = found("hidden", replace(FEDAVG, site_round=cheat))
    assert "of round 1 tells of records past the mechanisms" in message
    assert ("similarity_score" in message) == (cheat is counts_its_records)


def test_what_is_kept_now_and_sent_later_is_found() -> None:
    """In the first round nothing leaves but what may; the second one sends what the first kept."""

    def smuggles(group: SiteGroup, _: Any) -> Contribution:
        exact = replace(group, private=None).train_local()
        honest = group.train_local() - group.theta_global
        return update_of(group, honest + 0.1 * group.state["kept"], kept=exact)

    kept = lambda theta, sites: {"kept": torch.zeros(sites, len(theta))}  # noqa: E731 - a field of a value
    message = found("hidden", replace(FEDAVG, site_round=smuggles, initial_state=kept))
    assert "of round 2 tells" in message
    assert "of round 1 tells" not in message


def test_what_leaves_unnamed_is_found() -> None:
    silent = replace(FEDAVG, releases=lambda options, epochs: replace(one_update(options, epochs), free=()))
    assert found("declared", silent).startswith("similarity_score leaves, and no training or query")


def test_a_payment_for_nothing_is_found() -> None:
    def releases(options: Any, epochs: int) -> Releases:
        return replace(one_update(options, epochs), queries=(PrivateQuery(Purpose.SIMILARITY_ROWS, "update"),))

    message = found("spent", replace(FEDAVG, releases=releases))
    assert message == "`releases` pays for SIMILARITY_ROWS in every round, and no round asks for it"


def test_what_nobody_paid_for_cannot_be_asked() -> None:
    with pytest.raises(RuntimeError, match="Nobody paid for LOCAL_BATCHES"):
        found("hidden", replace(FEDAVG, releases=lambda *_: Releases()))


def test_a_method_that_sends_nothing_needs_nothing() -> None:
    silent = replace(
        FEDAVG,
        homomorphic=Homomorphic.SILENT,
        site_round=lambda *_: Contribution(state={}),
        releases=lambda *_: Releases(),
    )
    assert all(found(check, silent) == "" for check in PRIVATE)

"""What a method's round has to be, whatever it computes: each check yields a sentence for everything that is wrong."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import torch
from torch import Tensor

from secure_sapefl.algorithms.base import Algorithm, Homomorphic, StudyFacts
from secure_sapefl.conformance.sites import ALL, FourSites, tensors
from secure_sapefl.training.trainer import SequentialTrainer

Check = Callable[[Algorithm], Iterator[str]]

_FACTS: Final = StudyFacts(cohort=5, largest_site=9, peers_per_client=None)
_ATOL, _RTOL = 5e-5, 1e-3  # float32 sums of another order


def shapes(algorithm: Algorithm) -> Iterator[str]:
    """A round gives finite tensors with a row a site."""
    sites = FourSites()
    found = tensors(contribution := sites.round(algorithm))
    for name, rows in found.items():
        if len(rows) != 4:
            yield f"{name} has {len(rows)} rows for 4 sites"
        elif not torch.isfinite(rows).all():
            yield f"{name} is not finite"
        elif rows.requires_grad:
            yield f"{name} still requires a gradient; give it without, for instance .detach()"
    length = algorithm.update_length(sites.model, algorithm.options())
    expected = {"update": (4, length), "similarity_score": (4,), "theta_personal": (4, sites.model.parameters)}
    for name, shape in expected.items():
        if name in found and tuple(found[name].shape) != shape:
            yield f"{name} has shape {tuple(found[name].shape)}, expected {shape}"
    if contribution.update is not None and contribution.score is None:
        yield "an update needs a score: what it is weighed with"


def state(algorithm: Algorithm) -> Iterator[str]:
    """What a site keeps has the names, shapes and types it started with."""
    sites = FourSites()
    before, after = algorithm.initial_state(sites.theta_initial, 4), sites.round(algorithm).state
    if after.keys() != before.keys():
        yield f"initial_state has {sorted(before)}, a round gives {sorted(after)}"
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        if (new.shape, new.dtype) != (old.shape, old.dtype):
            was, now = (f"{rows.dtype} {tuple(rows.shape)}" for rows in (old, new))
            yield f"{name} was {was} and became {now}"


def declaration(algorithm: Algorithm) -> Iterator[str]:
    """It sends what it says its server has to handle."""
    contribution, says = FourSites().round(algorithm), algorithm.homomorphic
    if (contribution.update is not None) != (says is Homomorphic.WEIGHTED_SUM):
        given = "an" if contribution.update is not None else "no"
        yield f"homomorphic is {says.name}, and a round gives {given} update"
    if (contribution.shared is not None) != algorithm.relays_models:
        given = "a" if contribution.shared is not None else "no"
        yield f"relays_models is {algorithm.relays_models}, and a round gives {given} shared model"
    if contribution.shared is not None and contribution.update is not None and not algorithm.shows_updates:
        told = contribution.shared - FourSites().theta_global == contribution.update
        if told.float().mean() > 0.5:
            yield "shows_updates is False, and a site's update follows from the model it gives to peers"


def scores(algorithm: Algorithm) -> Iterator[str]:
    """Scores lie between 0 and the declared bound."""
    score, bound = FourSites().round(algorithm).score, algorithm.score_bound(_FACTS)
    if score is not None and not ((score >= 0) & (score <= bound)).all():
        yield f"scores run from {score.min():.4g} to {score.max():.4g}, score_bound says 0 to {bound:.4g}"


def engines(algorithm: Algorithm) -> Iterator[str]:
    """Sites trained side by side and one after another end alike."""
    sites = FourSites()
    one_by_one = sites.round(algorithm, trainer=SequentialTrainer)
    yield from _differences(tensors(sites.round(algorithm)), tensors(one_by_one))


def repeatable(algorithm: Algorithm) -> Iterator[str]:
    """A round can be repeated, and writes to nothing it was given."""
    group = FourSites().ready(algorithm)
    given = {"theta_global": group.theta_global, "theta_initial": group.theta_initial, "x": group.shard.x}
    given |= {"peers.models": group.peers.models, "peers.received": group.peers.received, **group.state}
    copies = {name: rows.clone() for name, rows in given.items()}
    first, second = (tensors(algorithm.site_round(group, algorithm.options())) for _ in range(2))
    for name, rows in given.items():
        if not torch.equal(rows, copies[name]):
            yield f"it changes {name} in place"
    for name in first.keys() & second.keys():
        if not torch.equal(first[name], second[name]):
            yield f"{name} is another when the round is repeated: draw from group.streams alone"


def grouping(algorithm: Algorithm) -> Iterator[str]:
    """A site alone ends as it does among others: a deployed site is a group of one."""
    sites = FourSites()
    together = tensors(sites.round(algorithm))
    alone = [tensors(sites.round(algorithm, (site,))) for site in ALL]
    yield from _differences(together, {name: torch.cat([one[name] for one in alone]) for name in together})


def order(algorithm: Algorithm) -> Iterator[str]:
    """Another order of equally large sites gives the same in that order."""
    sites, swap = FourSites(), [0, 2, 1, 3]
    straight, swapped = tensors(sites.round(algorithm)), tensors(sites.round(algorithm, tuple(swap)))
    yield from _differences({name: rows[swap] for name, rows in straight.items()}, swapped)


def models(algorithm: Algorithm) -> Iterator[str]:
    """Every site has a model to use, and who looks at it changes nothing."""
    sites = FourSites()
    group = sites.ready(algorithm)
    kept = {name: rows.clone() for name, rows in group.state.items()}
    used = algorithm.personal_models(group, algorithm.options()).clone()
    for name, rows in kept.items():
        if not torch.equal(rows, group.state[name]):
            yield f"personal_models changes {name} in place"
    if not torch.equal(used, algorithm.personal_models(group, algorithm.options())):
        yield "personal_models gives another model when it is asked again"
    if tuple(used.shape) != (4, sites.model.parameters):
        yield f"personal_models has shape {tuple(used.shape)}, expected {(4, sites.model.parameters)}"
    elif not torch.isfinite(used).all():
        yield "personal_models is not finite"


def loneliness(algorithm: Algorithm) -> Iterator[str]:
    """A round in which nobody received a peer's model gives numbers."""
    sites = FourSites()
    sites.received[:] = False
    for name, rows in tensors(sites.round(algorithm)).items():
        if not torch.isfinite(rows).all():
            yield f"{name} is not finite"


def device(algorithm: Algorithm) -> Iterator[str]:
    """A round stays on its device, as on a GPU: on `meta`, a value asked back is an error."""
    for name, rows in tensors(FourSites().round(algorithm, device="meta")).items():
        if rows.device.type != "meta":
            yield f"{name} was made on another device than the group's"


def _differences(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> Iterator[str]:
    if left.keys() != right.keys():
        yield f"it gives {sorted(left)} one way and {sorted(right)} the other"
    for name in left.keys() & right.keys():
        if not torch.allclose(left[name], right[name], atol=_ATOL, rtol=_RTOL):
            yield f"{name} differs by up to {(left[name] - right[name]).abs().max():.2g}"


ROUNDS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        check.__name__: check
        for check in (
            shapes,
            state,
            declaration,
            scores,
            engines,
            repeatable,
            grouping,
            order,
            models,
            loneliness,
            device,
        )
    }
)

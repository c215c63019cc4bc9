"""What an opened sum shows of its parts. A colluding site opens it as every site does, and looks closer.

Each attack is first carried out against a build that lacks one rule of plan.py or round_key.py, where it succeeds, and
then against the real one.
"""

import math

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected, KeyRejected, Parameters, ParametersRejected
from sapefl_crypto.joint import plan as plan_module
from sapefl_crypto.joint import round_key
from sapefl_crypto.joint.field import RING_DEGREE, added, centred, combined, modulo, negated, with_signed
from sapefl_crypto.joint.plan import JointPlan
from sapefl_crypto.joint.policy import JointPolicy
from sapefl_crypto.joint.ring import Multiplier, public_polynomials
from sapefl_crypto.joint.round_key import RoundKey

ANY_SHARE = JointPolicy(max_honest_share=1.0)  # these attacks do not need a lax policy, but gain from one
CHUNK = 4088


def decoded(sums: np.ndarray, light: int, heavy: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest Gaussians of one width with light · x + heavy · y = sums, for coprime weights.

    Solutions are x0 + heavy · z; the likeliest lies nearest to light · sums / (light² + heavy²).
    """
    first = np.mod(sums * pow(light, -1, heavy), heavy) if heavy > 1 else np.zeros_like(sums)
    middle = light * sums / (light**2 + heavy**2)
    x = first + heavy * np.rint((middle - first) / heavy).astype(np.int64)
    return x, (sums - light * x) // heavy


def two_honest_sites(make_cohort, plan: JointPlan, weights: tuple[int, int], updates: np.ndarray):
    """ "a" colludes with the server; "b" and "c" are honest."""
    cohort = make_cohort(3, threshold=2, length=updates.shape[1], plan=plan, policy=ANY_SHARE)
    cohort.send(updates, [1.0, *(weight / 2**plan.weight_bits for weight in weights)])
    return cohort


# errors


def frozen_layer_updates() -> np.ndarray:
    """Two chunks; the second belongs to a frozen layer, so everybody knows that its update is zero."""
    updates = np.random.default_rng(1).normal(0, 0.02, (3, 2 * CHUNK)).astype(np.float32)
    updates[:, CHUNK:] = 0
    return updates


def keys_from_errors(attacker, cohort, weights: tuple[int, int]) -> tuple[np.ndarray, float]:
    """The key of "b", solved from the known chunk, and the part of its errors that was decoded rightly."""
    about, known = cohort.about, 1
    all_weights = dict(zip("abc", (2**about.plan.weight_bits, *weights), strict=True))
    frames = {name: attacker.numbers(cohort, name)[known] for name in "abc"}
    messages = {name: message_of(cohort, name, known) for name in "abc"}
    total = attacker.opened_key(cohort, "a")
    (products,) = Multiplier(total).products(about.occasion.public_seed, about.chunks)
    noises = ((added(frames[name], negated(messages[name])), weight) for name, weight in all_weights.items())
    own = all_weights["a"] * errors_of(cohort, "a", known)  # the colluder remembers its own error
    errors, _ = decoded(centred(with_signed(added(products[known], combined(noises)), -own)), *weights)
    a = public_polynomials(about.occasion.public_seed, known, 1)[0]
    over = added(added(modulo(errors), messages["b"]), negated(frames["b"]))
    return attacker.divided(attacker.to_ntt(over), a), float(np.mean(errors == errors_of(cohort, "b", known)))


def message_of(cohort, name: str, chunk: int) -> np.ndarray:
    """A chunk of zeros as it is encrypted: tags alone, which every site can compute."""
    nonce = next(part.nonce for part in cohort.aggregate().claimed.claim if part.sender == name)
    tagger = cohort.root.tagger(cohort.about.occasion, CHUNK)
    message = np.zeros(RING_DEGREE, np.uint64)
    message[CHUNK:] = tagger.offsets(name, nonce, cohort.about.chunks)[chunk]
    return message


def errors_of(cohort, name: str, chunk: int) -> np.ndarray:
    return cohort.drawn[name].reshape(-1, RING_DEGREE)[chunk]


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch):
    """Keep the errors that sites draw: the colluder knows its own, and the test compares the others'."""
    drawn: list[np.ndarray] = []
    real = round_key.rounded_gaussian

    def remembering(*arguments):
        drawn.append(real(*arguments))
        return drawn[-1]

    monkeypatch.setattr(round_key, "rounded_gaussian", remembering)
    return drawn


def stolen(make_cohort, attacker, remembered, weights=(1, 32)) -> tuple[float, float]:
    """The part of b's secret chunk that the server and "a" read, and of b's errors that they decoded."""
    updates = frozen_layer_updates()
    cohort = two_honest_sites(make_cohort, Parameters.joint(max_clients=3), weights, updates)
    cohort.drawn = dict(zip("abc", remembered, strict=True))
    key, decoded_part = keys_from_errors(attacker, cohort, weights)
    return attacker.part_read(cohort, "b", key, updates[1]), decoded_part


def test_with_ordinary_small_errors_an_opened_sum_gives_away_the_key(
    make_cohort, attacker, remembered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JointPlan, "sigma", property(lambda plan: 3.2))
    assert stolen(make_cohort, attacker, remembered) == (1.0, 1.0)


@pytest.mark.parametrize("weights", [(1, 32), (31, 32)])
def test_with_the_planned_errors_it_does_not(make_cohort, attacker, remembered, weights: tuple[int, int]) -> None:
    """The likeliest error is right about once in sqrt(2 pi) · 204.8 / |weights|; a key needs all 4096 at once."""
    read, decoded_part = stolen(make_cohort, attacker, remembered, weights)
    assert read < 0.001
    assert decoded_part == pytest.approx(math.hypot(*weights) / (204.8 * math.sqrt(2 * math.pi)), rel=0.3)


def test_the_planned_width_is_the_least_that_leaves_the_claimed_width(make_cohort) -> None:
    """What is left of the errors of a pair of sites, for all weights a plan allows: 3.2 · sqrt(2) at least."""
    plan = Parameters.joint(max_clients=3)
    weights = range(1, 2**plan.weight_bits + 1)
    left = [plan.sigma * math.gcd(v, w) / math.hypot(v, w) for v in weights for w in weights]
    assert min(left) >= 3.2 * math.sqrt(2) * (1 - 1e-12)


# keys


def test_sums_of_ternary_keys_fall_apart_and_sums_of_uniform_ones_do_not(
    make_cohort, attacker, monkeypatch: pytest.MonkeyPatch
) -> None:
    updates = np.random.default_rng(2).normal(0, 0.02, (4, 100)).astype(np.float32)
    uniform_secret = round_key.fresh_secret

    def ternary_secret() -> np.ndarray:
        small = np.random.default_rng().integers(-1, 2, RING_DEGREE)
        return np.concatenate((attacker.to_ntt(modulo(small)), uniform_secret()[RING_DEGREE:]))

    for secret, read in ((ternary_secret, 1.0), (uniform_secret, 0.0)):
        monkeypatch.setattr(round_key, "fresh_secret", secret)
        cohort = make_cohort(4, length=100, policy=ANY_SHARE)
        cohort.send(updates, [1 / 32, 3 / 32, 9 / 32, 27 / 32])
        digits = centred(attacker.from_ntt(attacker.opened_key(cohort, "a")))
        for site, name in enumerate("abcd"):
            digit = np.mod(digits + 1, 3) - 1  # balanced ternary, as the weights 1, 3, 9, 27 write it
            digits = (digits - digit) // 3
            assert attacker.part_read(cohort, name, attacker.to_ntt(modulo(digit)), updates[site]) == read


def test_two_vectors_under_one_key_show_their_difference(make_cohort, attacker) -> None:
    """What the guard in `RoundKey` is for: without it, a retry with other numbers needs no key at all to be read."""
    cohort = make_cohort(4, length=100)
    first, second = np.random.default_rng(3).normal(0, 0.02, (2, 100)).astype(np.float32)
    key = RoundKey(cohort.about, sender="a", members=cohort.member_keys)
    masks = key._masks.copy()  # the guard is undone below
    frames = []
    for vector in (first, second):
        key._masks = masks.copy()  # the guard undone
        cohort.uploads["a"] = cohort.sign("a", key, vector, 1.0)
        frames.append(attacker.numbers(cohort, "a"))
    difference = centred(added(frames[0], negated(frames[1])))[0, :100]
    step = 2.0 ** -(cohort.about.plan.step_bits + cohort.about.plan.grid_bits)
    assert difference * step == pytest.approx(first - second, abs=1e-8)
    with pytest.raises(KeyRejected, match="its one vector"):
        cohort.sign("a", key, second, 1.0)


# small messages


def part_of_both_read(make_cohort, attacker, plan: JointPlan, weights: tuple[int, int], width: float = 1e-4) -> float:
    """The part of the values of "b" and "c" that follow from the exact sum alone, both updates of this width."""
    updates = np.random.default_rng(4).normal(0, width, (3, CHUNK)).astype(np.float32)
    cohort = two_honest_sites(make_cohort, plan, weights, updates)
    total = attacker.opened_key(cohort, "a")
    whole = [round_key.whole_numbers(update, cohort.about)[0] for update in updates]
    frames = [attacker.numbers(cohort, name) for name in "abc"]
    summed = combined(zip(frames, (2**plan.weight_bits, *weights), strict=True))
    sums = attacker.read(cohort.about, summed, total)[0] - 2**plan.weight_bits * whole[0]
    light, heavy = decoded(sums, *weights)
    return float(np.mean((light == whole[1]) & (heavy == whole[2])))


def test_with_eight_weight_bits_an_exact_sum_of_small_updates_falls_apart(
    make_cohort, attacker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ParametersRejected, match="0 to 5"):
        Parameters.joint(max_clients=14, weight_bits=8)
    monkeypatch.setattr(plan_module, "MAX_WEIGHT_BITS", 8)
    plan = Parameters.joint(max_clients=14, weight_bits=8)
    assert plan.grid_bits == 19
    assert part_of_both_read(make_cohort, attacker, plan, (1, 200)) > 0.9


def test_with_five_it_does_not(make_cohort, attacker) -> None:
    plan = Parameters.joint(max_clients=14)
    assert part_of_both_read(make_cohort, attacker, plan, (1, 31)) < 0.005


@pytest.mark.parametrize(
    ("weights", "width", "read"), [((1, 31), 1e-6, 0.05), ((1, 31), 1e-7, 0.45), ((1, 9), 1e-7, 0.13)]
)
def test_updates_of_few_grid_steps_still_fall_apart(make_cohort, attacker, weights, width: float, read: float) -> None:
    """The limit of the rule, said in README.md: what counts is the width of the update in grid steps."""
    plan = Parameters.joint(max_clients=14)
    assert part_of_both_read(make_cohort, attacker, plan, weights, width) == pytest.approx(read, rel=0.2)


def test_the_policy_asks_for_comparable_weights_on_top(make_cohort) -> None:
    updates = np.zeros((3, 10), np.float32)
    cohort = make_cohort(3, threshold=2, length=10)
    cohort.send(updates, [1.0, 1 / 32, 31 / 32])
    with pytest.raises(AggregateRejected, match="maximum share"):
        cohort.members["b"].endorse(cohort.aggregate().claimed)

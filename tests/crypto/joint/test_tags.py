"""A server without an accomplice tries to pass off another sum than the one it claims. Integer tags notice."""

import itertools

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected, KeyRejected
from sapefl_crypto.frames import with_checksum
from sapefl_crypto.joint.aggregate import JointAggregate
from sapefl_crypto.joint.answers import read_answer
from sapefl_crypto.joint.field import PRIME, RING_DEGREE, centred, combined, with_signed
from sapefl_crypto.joint.frames import parse_frame
from sapefl_crypto.joint.opening import mean_under
from sapefl_crypto.joint.recombining import recombine
from sapefl_crypto.joint.ring import Multiplier
from sapefl_crypto.joint.tags import IntegerTags, TagRoot
from sapefl_crypto.packing import pack, unpack

LENGTH, SITES = 4088 + 60, 4


class Server:
    """All a cheating server of one round knows, and the parties it tries to deceive."""

    def __init__(self, cohort, seed: int) -> None:
        self.cohort, self.rng = cohort, np.random.default_rng(seed)
        vectors = self.rng.normal(0, 0.02, (SITES, LENGTH)).astype(np.float32)
        cohort.send(vectors, self.rng.uniform(0.4, 1, SITES))
        self.honest = cohort.aggregate()
        self.weights = dict(self.honest.claimed.claim.weights)
        certificate = cohort.certify(self.honest)
        self.key = recombine(cohort.about, self.honest.claimed, [
            read_answer(answer, cohort.about, self.honest.claimed, sealing=cohort.sealing["a"], reader="a")
            for answer in cohort.answers(self.honest, certificate)
        ])  # fmt: skip

    def frame(self, name: str) -> np.ndarray:
        payload = parse_frame(self.cohort.uploads[name].frame, self.cohort.about).payload
        return numbers_of(payload)

    def sum_with(self, weights: dict[str, int]) -> np.ndarray:
        return combined((self.frame(name), weight) for name, weight in weights.items())

    @property
    def sum(self) -> np.ndarray:
        return numbers_of(self.honest.payload)

    def accepted(self, numbers: np.ndarray) -> bool:
        payload = b"".join(pack(np.ascontiguousarray(row)) for row in numbers)
        try:
            mean_under(
                self.cohort.about,
                JointAggregate(claimed=self.honest.claimed, payload=payload),
                self.key,
                self.cohort.root,
            )
        except AggregateRejected:
            return False
        return True


def numbers_of(payload) -> np.ndarray:
    return np.stack([unpack(bytes(payload)[at : at + 30720]) for at in range(0, len(payload), 30720)])


def someone(server: Server) -> str:
    return str(server.rng.choice(list(server.weights)))


def dropping(server: Server) -> np.ndarray:
    victim = someone(server)
    return server.sum_with({name: weight for name, weight in server.weights.items() if name != victim})


def reweighting(server: Server) -> np.ndarray:
    victim = someone(server)
    return server.sum_with({name: weight + (name == victim) for name, weight in server.weights.items()})


def substituting(server: Server) -> np.ndarray:
    return server.sum_with({someone(server): sum(server.weights.values())})


def one_grid_step(server: Server) -> np.ndarray:
    """The smallest change there is, in one value."""
    return shifted(server, 1)


def eight_grid_steps(server: Server) -> np.ndarray:
    return shifted(server, -8)


def shifted(server: Server, steps: int) -> np.ndarray:
    change = np.zeros((2, RING_DEGREE), np.int64)
    change[0, server.rng.integers(4088)] = steps << server.cohort.about.plan.step_bits
    return with_signed(server.sum, change)


def times_x(server: Server) -> np.ndarray:
    """Multiply every chunk by x^j: coefficients move j places, those that leave come back with the other sign."""
    moved = np.roll(server.sum, places := int(server.rng.integers(1, RING_DEGREE)), axis=1)
    moved[:, :places] = (np.uint64(PRIME) - moved[:, :places]) % np.uint64(PRIME)
    return moved


def times_a_polynomial(server: Server) -> np.ndarray:
    """1 + x^j."""
    return (server.sum + times_x(server)) % np.uint64(PRIME)


def swapping_chunks(server: Server) -> np.ndarray:
    return server.sum[::-1]


def repeating_a_chunk(server: Server) -> np.ndarray:
    return server.sum[[0, 0]]


def scaling(server: Server) -> np.ndarray:
    return combined([(server.sum, 2)])


def noise(server: Server) -> np.ndarray:
    return server.rng.integers(0, PRIME, (2, RING_DEGREE), np.uint64)


def a_message_in_the_clear(server: Server) -> np.ndarray:
    return np.zeros((2, RING_DEGREE), np.uint64)


ATTACKS = [
    dropping, reweighting, substituting, one_grid_step, eight_grid_steps, times_x, times_a_polynomial,
    swapping_chunks, repeating_a_chunk, scaling, noise, a_message_in_the_clear,
]  # fmt: skip


def passed(make_cohort, seeds) -> list[tuple[str, int]]:
    through = []
    for seed in seeds:
        server = Server(make_cohort(SITES, length=LENGTH), seed)
        assert server.accepted(server.sum), seed
        assert server.accepted(server.sum_with(server.weights)), seed
        through += [(attack.__name__, seed) for attack in ATTACKS if server.accepted(attack(server))]
    return through


def test_no_attack_passes(make_cohort) -> None:
    assert passed(make_cohort, range(5)) == []


@pytest.mark.slow
def test_no_attack_passes_in_five_hundred_rounds(make_cohort) -> None:
    assert passed(make_cohort, range(100, 600)) == []


def test_without_tags_a_changed_value_would_pass(make_cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: it is the tags that notice. Other sums fail without them too: the key fits the claimed one alone."""
    monkeypatch.setattr(IntegerTags, "residuals", lambda self, data, tags, offsets: np.zeros_like(tags))
    through = {name for name, _ in passed(make_cohort, [1])}
    assert through == {"one_grid_step", "eight_grid_steps"}


def test_each_of_the_eight_tags_of_every_chunk_is_compared(make_cohort) -> None:
    server = Server(make_cohort(SITES, length=LENGTH), 2)
    for chunk, place in itertools.product(range(2), range(8)):
        change = np.zeros((2, RING_DEGREE), np.int64)
        change[chunk, 4088 + place] = 1 << 40
        assert not server.accepted(with_signed(server.sum, change)), (chunk, place)


def test_a_change_of_one_step_moves_a_tag_by_a_large_part_of_q(make_cohort) -> None:
    server = Server(make_cohort(SITES, length=LENGTH), 3)
    tagger = server.cohort.root.tagger(server.cohort.about.occasion, 4088)
    data = np.zeros((1, 4088), np.int64)
    for place in range(0, 4088, 500):
        data[:] = 0
        data[0, place] = 1
        assert tagger.residuals(data, np.zeros((1, 8), np.uint64), np.zeros((1, 8), np.uint64)).max() > 2**54


def test_honest_sums_keep_their_distance_from_the_bound(make_cohort) -> None:
    """Nine standard deviations are allowed; over thousands of values an honest sum reaches about four."""
    server = Server(make_cohort(SITES, length=LENGTH), 4)
    plan = server.cohort.about.plan
    bound = plan.noise(server.weights.values())
    (products,) = Multiplier(server.key.numbers).products(server.cohort.about.occasion.public_seed, 2)
    values = centred((server.sum + products) % np.uint64(PRIME))[:, :4088]
    errors = values - ((values + (1 << plan.step_bits - 1)) >> plan.step_bits << plan.step_bits)
    assert 3 / 9 < np.abs(errors).max() / bound < 6 / 9
    assert errors.std() == pytest.approx(bound / 9, rel=0.05)


def test_a_roots_fingerprint_tells_roots_apart_and_nothing_of_them() -> None:
    roots = [TagRoot.generate() for _ in range(20)]
    assert len({root.fingerprint for root in roots}) == 20
    for root in roots:
        assert len(root.fingerprint) == 16
        assert root.fingerprint not in root.export_secret().hex()


def test_a_root_travels_and_damage_is_noticed() -> None:
    root = TagRoot.generate()
    assert TagRoot.from_secret(root.export_secret()).fingerprint == root.fingerprint
    secret = root.export_secret()
    flipped = secret[:9] + bytes([secret[9] ^ 1]) + secret[10:]
    for bad in (b"", secret[:-1], b"x" + secret[1:], flipped, with_checksum(secret[:5], secret[5:-4] + b"x")):
        with pytest.raises(KeyRejected, match="no intact root"):
            TagRoot.from_secret(bad)

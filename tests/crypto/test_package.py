import subprocess
import sys

import pytest

import sapefl_crypto


def test_every_public_name_can_be_had() -> None:
    assert sapefl_crypto.__all__ == sorted(sapefl_crypto.__all__) == dir(sapefl_crypto)
    assert all(getattr(sapefl_crypto, name).__name__ == name for name in sapefl_crypto.__all__)


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="CohortKay"):
        _ = sapefl_crypto.CohortKay


@pytest.mark.parametrize(("gone", "instead"), [("EncryptionPool", "KeyPool"), ("ShardedSum", "Aggregator")])
def test_what_0_1_0_had_and_is_gone_says_what_to_use(gone: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"{gone}.* any more: .*{instead}"):
        getattr(sapefl_crypto, gone)


@pytest.mark.parametrize(
    "statement",
    [
        "import sapefl_crypto",
        "from sapefl_crypto.errors import CryptoError",
        "from sapefl_crypto import AggregateRejected, SiteIdentity, sign_frame",
    ],
)
def test_light_names_do_not_load_tenseal(statement: str) -> None:
    program = f"{statement}\nimport sys\nassert not [name for name in sys.modules if name.startswith('tenseal')]"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_readme_example() -> None:
    """From key to mean in ten lines, as README.md shows it."""
    import numpy as np

    from sapefl_crypto import Aggregator, CohortKey, Parameters

    vector = np.array([0.5, -1.0, 2.0], np.float32)
    params = Parameters(max_clients=128)
    key = CohortKey.generate(params)
    frame = key.encrypt(vector, study="s", round_index=3, sender="a")
    agg = Aggregator(params, study="s", round_index=3, length=len(vector), max_score=10.0)
    agg.add(frame, score=0.7)
    aggregate = agg.finish()
    mean = key.decrypt(aggregate, study="s", round_index=3)
    assert mean == pytest.approx(vector, abs=1e-6)
    blob = key.seal(vector, study="s", round_index=3, sender="a")
    assert np.array_equal(key.open(blob, study="s", round_index=3, sender="a"), vector)

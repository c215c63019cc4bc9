"""Ratios and targets follow from the costs that were measured."""

from sapefl_crypto.bench_report import Costs, ratios, targets


def costs(**changed: float) -> Costs:
    usual = {
        "encrypt_seconds": 1.0,
        "upload_bytes_per_parameter": 8.0,
        "aggregate_seconds_per_client": 1.0,
        "decrypt_seconds": 1.0,
        "download_bytes_per_parameter": 16.0,
        "max_error": 1e-9,
    }
    return Costs(**{**usual, **changed})


def test_ratios_say_how_many_times_less_we_cost() -> None:
    naive = costs(encrypt_seconds=6.0, upload_bytes_per_parameter=80.0)
    found = ratios(costs(), naive)
    assert (found["encrypt_seconds"], found["upload_bytes_per_parameter"]) == (6.0, 10.0)
    assert "max_error" not in found


def test_targets_are_met_or_not_by_their_own_numbers() -> None:
    naive = costs(encrypt_seconds=6, upload_bytes_per_parameter=80, aggregate_seconds_per_client=6, decrypt_seconds=3)
    assert all(target.met for target in targets(costs(), naive, 10, 2e-3))
    missed = targets(costs(max_error=5e-8, encrypt_seconds=1.1), naive, 10, 3e-3)
    assert [target.name for target in missed if not target.met] == [
        "times faster encryption", "maximum error", "relative error of a share",
    ]  # fmt: skip
    assert targets(costs(max_error=5e-8), naive, 128, 0)[6].met

import pytest

from secure_sapefl.privacy import bench
from secure_sapefl.privacy.bench import step_costs


def test_every_mode_is_timed_in_one_run_against_the_plain_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SETTINGS", {"tiny": ((6,), 3, "small")})
    reported: list[str] = []
    costs = list(step_costs(4, 1, reported.append))
    modes = ["plain", "Opacus hooks", "Opacus functorch", "Opacus ghost", "ours", "ours, secure noise"]
    assert [cost.mode for cost in costs] == modes
    assert costs[0].ratio == 1
    assert all(cost.ratio == pytest.approx(cost.milliseconds / costs[0].milliseconds) for cost in costs)
    assert reported == ["tiny, batch 4 ..."]

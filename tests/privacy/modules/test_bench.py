import pytest

from secure_sapefl.privacy.modules import bench as bench_modules
from secure_sapefl.privacy.modules.bench import MODULES, ClippingCost, clipping_costs


def test_both_ways_are_timed_and_the_one_we_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    some = {"own": (MODULES["own residual MLP, 64 wide"][0], (6,)), "resnet": (MODULES["resnet"][0], (3, 8, 8))}
    monkeypatch.setattr(bench_modules, "MODULES", some)
    reported: list[str] = []
    costs = list(clipping_costs(3, 1, reported.append))
    assert [(cost.model, cost.used) for cost in costs] == [("own", "ghost"), ("resnet", "formed")]
    assert all(cost.formed_milliseconds > 0 < cost.ghost_milliseconds for cost in costs)
    assert reported == ["own, batch 3 ...", "resnet, batch 3 ..."]


def test_a_ratio_by_hand() -> None:
    cost = ClippingCost(model="m", parameters=1, formed_milliseconds=4.0, ghost_milliseconds=1.0, used="ghost")
    assert cost.to_json()["ratio"] == 0.25

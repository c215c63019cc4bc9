"""What an experiment varies, and mistakes that are found before the first run."""

from collections.abc import Callable

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.setting import Contender, Setting, Task, check

SYNTHETIC, FEDPROX = Task(dataset="synthetic"), Contender(method="fedprox", options={"mu": 0.5})


def test_labels_of_columns_and_rows() -> None:
    assert SYNTHETIC.label == "synthetic"
    assert Task(dataset="data/mine.npz", changes={"partition": "iid", "kappa": 0.5}).label == "mine.npz (iid, 0.5)"
    assert FEDPROX.label == "fedprox:mu=0.5"


def test_a_cell_has_the_common_setting_with_the_changes_of_task_and_contender(tiny: Callable[..., Setting]) -> None:
    task, tuned = Task(dataset="synthetic", changes={"kappa": 0.7}), FEDPROX.with_settings(0.01, {"mu": 2.0})
    config = tiny(lr=0.1).cell(task, tuned, 5).config
    assert (config.kappa, config.method, config.seed, config.lr) == (0.7, "fedprox", 5, 0.01)
    assert config.options == {"mu": 2.0}
    assert (config.threads, config.workers) == (1, 0)
    assert tiny(lr=0.1).cell(task, FEDPROX, 5).config.lr == 0.1


def test_seeds_count_from_the_first(tiny: Callable[..., Setting]) -> None:
    assert list(tiny(seeds=3, seed=4).seed_values) == [4, 5, 6]
    with pytest.raises(BadInput, match="--seeds is 0"):
        tiny(seeds=0)


@pytest.mark.parametrize(
    ("tasks", "contenders", "sentence"),
    [
        ([], [FEDPROX], "No dataset is named"),
        ([SYNTHETIC, SYNTHETIC], [FEDPROX], "'synthetic' is named more than once"),
        ([SYNTHETIC], [], "No method is named"),
        ([SYNTHETIC], [FEDPROX, FEDPROX], "'fedprox:mu=0.5' is named more than once"),
        ([SYNTHETIC], [Contender(method="fedprox", options={"nu": 1})], "nu"),
        ([Task(dataset="synthetik")], [FEDPROX], "Did you mean 'synthetic'"),
    ],
)
def test_mistakes_are_found_before_the_first_cell(
    tiny: Callable[..., Setting], tasks: list[Task], contenders: list[Contender], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        check(tiny(), tasks, contenders, lambda *_: None)


def test_methods_that_cannot_train_the_model_are_named_before_the_first_cell_with_those_that_can(
    tiny: Callable[..., Setting],
) -> None:
    contenders = [Contender(method=name) for name in ("local", "fedafk", "sapefl", "fedas")]
    with pytest.raises(BadInput, match=r"FedAFK .* FedAS .* others: --methods local,sapefl$"):
        check(tiny(model="linear"), [SYNTHETIC], contenders, lambda *_: None)
    with pytest.raises(BadInput, match=r"FedAFK .* no body.$"):
        check(tiny(model="linear"), [SYNTHETIC], [Contender(method="fedafk")], lambda *_: None)

"""Each module that cannot be used is refused by a sentence that names it and a way out; what can be, is not."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from secure_sapefl.errors import BadInput
from secure_sapefl.models import checks
from secure_sapefl.models.base import Description

ABOUT = Description(shape=(4,), outputs=2)
Change = Callable[[Tensor], Tensor]


def as_it_is(values: Tensor) -> Tensor:
    return values


def refused(module: nn.Module, sentence: str, about: Description = ABOUT) -> None:
    with pytest.raises(BadInput, match=sentence):
        checks.check(checks.in_training(module), about)


def test_running_statistics_are_refused_with_what_to_use_instead() -> None:
    refused(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)), r"'1' \(BatchNorm1d\).*GroupNorm")
    image = Description(shape=(1, 4, 4), outputs=1)
    norm = nn.InstanceNorm2d(1, track_running_stats=True)
    refused(nn.Sequential(norm, nn.Flatten(), nn.Linear(16, 1)), r"'0' \(InstanceNorm2d\)", image)


def test_batch_statistics_without_running_ones_mix_records() -> None:
    norm = nn.BatchNorm1d(3, track_running_stats=False)
    refused(nn.Sequential(nn.Linear(4, 3), norm, nn.Linear(3, 2)), "depends on the other records")


def test_a_frozen_norm_stays_as_it_came() -> None:
    norm = nn.BatchNorm1d(4).requires_grad_(False)
    module = checks.in_training(nn.Sequential(norm, nn.Linear(4, 2)))
    checks.check(module, ABOUT)
    assert not norm.training
    assert module[1].training


def test_a_buffer_that_training_changes_is_named() -> None:
    class Counting(nn.Linear):
        def __init__(self) -> None:
            super().__init__(4, 2)
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, input: Tensor) -> Tensor:
            self.seen += 1
            return super().forward(input)

    refused(Counting(), "changes its buffer 'seen'")


class Own(nn.Linear):
    """A layer that does something else with what it is given, or with what it answers."""

    def __init__(self, before: Change = as_it_is, after: Change = as_it_is, in_use: Change = as_it_is) -> None:
        super().__init__(4, 2)
        self.before, self.after, self.in_use = before, after, in_use

    def forward(self, input: Tensor) -> Tensor:
        answer = self.after(super().forward(self.before(input)))
        return answer if self.training else self.in_use(answer)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (Own(after=lambda y: y.detach()), "no gradient.*detach"),
        (Own(after=lambda y: y * torch.nan), "with NaN or infinity"),
        (Own(after=lambda y: y / 0), "with NaN or infinity"),
        (Own(after=lambda y: y + float(np.random.rand())), "the same rows differently"),
        (Own(before=lambda x: x.add_(1)), "writes into the rows it is given"),
        (nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2)), "writes into the rows it is given"),
        (Own(after=lambda y: y.half()), r"answers in torch.float16, expected torch.float32"),
        (Own(in_use=lambda y: y[:, 0]), r"with \(3,\), expected \(3, 2\)"),
        (Own(after=lambda y: nn.functional.dropout(y, 0.5)), "when it is used, too.*self.training"),
    ],
)
def test_answers_that_could_not_be_learned_from_or_used(module: nn.Module, sentence: str) -> None:
    refused(module, sentence)


def test_a_state_that_is_no_tensor_is_named() -> None:
    class Noted(nn.Linear):
        def get_extra_state(self) -> dict[str, int]:
            return {"seen": 3}

    refused(Noted(4, 2), "keeps a dict as its state '_extra_state'.*buffer")


def test_freezing_is_advised_where_it_helps() -> None:
    for affine in (True, False):
        module = nn.Sequential(nn.BatchNorm1d(4, affine=affine), nn.Linear(4, 2))
        with pytest.raises(BadInput) as error:
            checks.check(checks.in_training(module), ABOUT)
        assert ("freeze it" in str(error.value)) is affine


def test_a_module_that_passed_is_left_in_training() -> None:
    module = checks.in_training(nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)))
    checks.check(module, ABOUT)
    assert all(part.training for part in module.modules())


def test_a_weight_that_is_stored_otherwise_is_named() -> None:
    module = nn.Linear(4, 2)
    module.weight = nn.Parameter(module.weight.detach().to_sparse())
    refused(module, "'weight' is torch.sparse_coo.*to_dense")


def test_a_hook_on_a_weights_gradient_is_named() -> None:
    module = nn.Linear(4, 2)
    module.weight.register_hook(lambda gradient: gradient * 0)
    refused(module, "'weight' has a hook on its gradient.*requires_grad_")


def test_nothing_to_train() -> None:
    refused(nn.Linear(4, 2).requires_grad_(False), "no parameter to train")


def test_other_numbers_than_float32() -> None:
    refused(nn.Linear(4, 2).double(), r"'weight' holds torch.float64.*\.float\(\)")


def test_dropout_inside_an_operator_is_refused_by_name() -> None:
    sequence = Description(shape=(3, 4), outputs=4)
    refused(nn.LSTM(4, 4, num_layers=2, dropout=0.1), r"'' \(LSTM\).*nn.Dropout between", sequence)
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    refused(layer, r"'self_attn' \(MultiheadAttention\).*dropout=0", sequence)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (nn.Linear(4, 3), r"answers 3 rows of shape \(4,\) with \(3, 3\), expected \(3, 2\)"),
        (nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)), r"with \(3,\), expected"),
        (nn.Linear(5, 2), r"cannot read rows of shape \(4,\)"),
    ],
)
def test_answers_of_another_shape(module: nn.Module, sentence: str) -> None:
    refused(module, sentence)


def test_an_answer_that_is_no_tensor() -> None:
    refused(nn.LSTM(4, 2, batch_first=True), "with tuple", Description(shape=(3, 4), outputs=2))


def test_what_is_no_module() -> None:
    with pytest.raises(BadInput, match="gave str, expected"):
        checks.materialised("nn.Linear(4, 2)", ABOUT)


def test_rows_may_be_codes() -> None:
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.EmbeddingBag(10, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.words(x.long())

    checks.check(checks.in_training(Words()), ABOUT)


def test_what_only_the_way_back_finds_is_refused() -> None:
    class Overwriting(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            answer = super().forward(x).exp()
            answer += 1  # the gradient of exp needs what is overwritten
            return answer

    refused(Overwriting(4, 2), r"has no derivative: one of the variables.*inplace operation\. .*y = y \+ 1")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, of torch.jit
@pytest.mark.parametrize("compiled", [pytest.param(torch.compile, marks=pytest.mark.slow), torch.jit.script])
def test_compiled_modules_are_refused(compiled: Callable[[nn.Module], nn.Module]) -> None:
    with pytest.raises(BadInput, match=r"The model is compiled.*without torch\.compile"):
        checks.materialised(compiled(nn.Linear(4, 2)), ABOUT)
    with pytest.raises(BadInput, match=r"model's '0' is compiled"):
        checks.materialised(nn.Sequential(compiled(nn.Linear(4, 2))), ABOUT)

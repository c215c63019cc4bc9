"""Where a site's budget goes, by what was asked."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments.budget.division import division_sheets
from secure_sapefl.experiments.budget.request import Request
from secure_sapefl.experiments.tables import Sheet


def test_noise_on_similarities_grows_with_the_square_root_of_peers(request_for: Callable[..., Request]) -> None:
    request = request_for("sapefl", epsilons=(1.0, 4.0))
    configs = [request.cell(request.contenders[0], epsilon, 0).config for epsilon in request.epsilons]
    noise = division_sheets(configs, [100] * 6)[1]
    strict, loose = ([float(cell.split()[1]) for cell in row[1:]] for row in noise.rows)
    assert noise.header == ("ε", "1 peers", "2 peers", "all 5 peers")
    assert strict[2] / strict[0] == pytest.approx(5**0.5, rel=0.02)
    assert all(a > b for a, b in zip(strict, loose, strict=True))


def test_a_share_of_the_budget_is_named_by_what_was_asked(request_for: Callable[..., Request]) -> None:
    """Trainings for one field are one column, questions one each; a method without peers has no table of peers."""

    def sheets(method: str) -> list[Sheet]:
        request = request_for(method, epsilons=(2.0,))
        return division_sheets([request.cell(request.contenders[0], 2.0, 0).config], [100] * 6)

    assert [sheet.header[3:] for sheet in sheets("perfedavg")] == [("update",)]
    assert [sheet.header[3:] for sheet in sheets("fedas")] == [("update", "Fisher weight for similarity_score")]
    shares, _ = sheets("sapefl-plus")
    asked = ("similarities", "label shares", "fit of peers")
    assert shares.header[3:] == ("update", *(f"{one} for update" for one in asked))
    assert sum(int(part.rstrip("%")) for part in shares.rows[0][3:]) == pytest.approx(100, abs=3)

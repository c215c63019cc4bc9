"""Who resembled whom: only what was compared is coloured."""

import numpy as np

from secure_sapefl.report.charts.run import charts_of


def test_the_heat_map_leaves_out_what_was_not_compared(make_run, drawn):
    matrix = [[None, 0.25, 0.75], [0.5, None, None], [None, None, None]]
    run = make_run(matrix=matrix)
    (image,) = drawn(run, "similarity").images
    assert np.isnan(image.get_array().filled(np.nan)).sum() == 6
    words = next(chart.alt for chart in charts_of(run) if chart.name == "similarity")
    assert words == "Heat map of 3 similarities between 3 sites: lowest 0.25, mean 0.50, highest 0.75."

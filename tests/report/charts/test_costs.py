"""Seconds and bytes, as they are drawn."""


def test_phases_stand_from_top_to_bottom(make_run, drawn):
    axes = drawn(make_run(), "seconds")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["local", "encrypt", "other"]
    assert axes.yaxis_inverted()


def test_bytes_are_shown_for_what_was_sent_and_what_was_received(make_run, drawn):
    up, down = drawn(make_run(), "bytes").get_lines()
    assert up.get_xdata().tolist() == [1, 2]
    assert len({*up.get_ydata(), *down.get_ydata()}) > 1

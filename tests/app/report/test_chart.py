"""Where the curve is drawn, read back by the ticks beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold.app.report.chart import line_chart

numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


@given(st.lists(numbers, min_size=1, max_size=40))
def test_the_curve_is_inside_its_frame_and_higher_where_values_are(values):
    chart = line_chart(values)
    left, right, top, bottom = chart["frame"]
    x, y = np.array(chart["points"]).T
    assert len(x) == len(values)
    assert (x >= left).all()
    assert (x <= right).all()
    assert (y >= top).all()
    assert (y <= bottom).all()
    assert (np.diff(x) >= 0).all()
    order = np.argsort(values)
    assert (np.diff(y[order]) <= 0).all()  # y grows downwards
    assert 0 <= left < right <= chart["width"]
    assert 0 <= top < bottom <= chart["height"]


def test_the_ticks_say_what_the_points_are():
    values = [10.0, 7.0, 4.0, 2.0, 2.5, 2.0]
    chart = line_chart(values)
    places, texts = zip(*chart["up"], strict=True)
    read = np.interp(
        [y for _, y in chart["points"]], places[::-1], [float(t) for t in texts[::-1]]
    )
    # the ticks end just inside of the extremes, where reading stops
    np.testing.assert_allclose(read, values, atol=0.02 * 8 + 0.2)
    across = {text: x for x, text in chart["across"]}
    for i, (x, _) in enumerate(chart["points"], 1):
        assert across[str(i)] == x


@pytest.mark.parametrize("start", [-150.83, 0.0, 7.0, 1234.0])
@pytest.mark.parametrize("span", [1e-2, 1.0, 1e5])
def test_ticks_can_be_told_apart(start, span):
    chart = line_chart([start + span, start + span / 3, start])
    levels = [float(text) for _, text in chart["up"]]
    assert (np.diff(levels) > 0).all()
    assert all(len(text) <= 9 for _, text in chart["up"])
    assert levels[0] == pytest.approx(start, abs=0.05 * span)
    assert levels[-1] == pytest.approx(start + span, abs=0.05 * span)


@pytest.mark.parametrize("values", [[3.0], [0.0], [5.0, 5.0, 5.0], [-2.0, -2.0]])
def test_a_flat_curve_is_in_the_middle(values):
    chart = line_chart(values)
    _, _, top, bottom = chart["frame"]
    assert {y for _, y in chart["points"]} == {(top + bottom) / 2}


def test_many_iterations_have_few_ticks_with_the_first_and_last():
    chart = line_chart(list(range(300, 0, -1)))
    steps = [int(text) for _, text in chart["across"]]
    assert steps[0] == 1
    assert steps[-1] == 300
    assert 2 < len(steps) <= 12
    assert steps == sorted(set(steps))


@given(st.sets(st.integers(-(10**6), 10**6), min_size=1, max_size=30))
def test_what_values_belong_to_is_the_way_across(numbers):
    over = sorted(numbers)
    chart = line_chart([float(-n) for n in range(len(over))], over)
    left, right, *_ = chart["frame"]
    x = [x for x, _ in chart["points"]]
    if len(over) > 1:
        share = (np.array(over) - over[0]) / (over[-1] - over[0])
        np.testing.assert_allclose(x, left + share * (right - left), atol=0.05)
    ticks = [int(text) for _, text in chart["across"]]
    assert ticks[0] == over[0]
    assert ticks[-1] == over[-1]
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 10
    for place, text in chart["across"]:
        assert place == pytest.approx(np.interp(int(text), over, x), abs=0.1)


def test_a_curve_over_1_2_3_is_the_usual_one():
    values = [3.0, 1.0, 2.0]
    assert line_chart(values, [1, 2, 3]) == line_chart(values)

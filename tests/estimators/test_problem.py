import numpy as np
import pytest
from problems import LAYOUTS, stack

from twofold import TSNMF
from twofold.core.state import Solution
from twofold.estimators import scaling
from twofold.estimators.problem import lowest, read_problem
from twofold.estimators.reading import from_stack


def ended(total):
    return Solution(None, {"total": np.array([5.0, total])}, True)


def test_the_lowest_objective_wins_and_the_first_of_equal_ones():
    solutions = [ended(3.0), ended(2.0 + 1e-12), ended(2.0), ended(2.5)]
    assert lowest(solutions) is solutions[1]
    assert lowest(solutions[2:]) is solutions[2]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_samples_are_those_given_in_order_and_divided(layout, monkeypatch):
    monkeypatch.setattr(scaling, "_BLOCK_ENTRIES", 300)  # many blocks
    (n, c, h, w), _ = LAYOUTS[layout]
    X = from_stack(stack((n, c, h, w)), (h, w, c))
    problem = read_problem(TSNMF(3, scale="sample"), X)
    norms = np.linalg.norm(X.reshape(n, -1), axis=1)
    np.testing.assert_allclose(
        problem.given.divisor, norms[problem.given.order], rtol=1e-14
    )
    divisor = problem.given.divisor[:, None, None, None]
    again = from_stack(problem.samples, (h, w, c)) * divisor
    np.testing.assert_allclose(problem.given.as_given(again), X, rtol=1e-14)


def test_zeros_of_both_signs_are_the_same_number():
    X = np.array([[[0.0, 1.0]], [[-0.0, 1.0]], [[1.0, 0.0]]])
    assert read_problem(TSNMF(2), X).given.copies.row.tolist() == [0, 0, 1]
    assert read_problem(TSNMF(2, duplicates="keep"), X).given.group.tolist() == [
        0,
        0,
        1,
    ]

import numpy as np

from twofold._problem import lowest
from twofold.core.state import Solution


def ended(total):
    return Solution(None, {"total": np.array([5.0, total])}, True)


def test_the_lowest_objective_wins_and_the_first_of_equal_ones():
    solutions = [ended(3.0), ended(2.0 + 1e-12), ended(2.0), ended(2.5)]
    assert lowest(solutions) is solutions[1]
    assert lowest(solutions[2:]) is solutions[2]

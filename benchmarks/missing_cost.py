"""What missing entries cost an iteration of TSNMF, beside the same fit without."""

import time
from typing import Any

import numpy as np
import pages
from settings import nearest_neighbors

from twofold import TSNMF, datasets
from twofold.estimators.problem import Problem, read_problem

MARKER = "<!-- measured by benchmarks/missing_cost.py -->"

SETS, WEIGHTS, SHARE = ("orl", "eyaleb", "semeion", "pix", "digits"), (1.0, 0.1), 0.4
TURNS, ITERATIONS = 5, 6


def read(images: np.ndarray, k: int) -> tuple[Problem, float]:
    """What the solver takes, and the seconds up to there: mostly the completion."""
    # From a random start, which takes no time.
    options: Any = {
        **nearest_neighbors(images),
        "tol": 0,
        "max_iter": ITERATIONS,
        "init": "random",
        "random_state": 0,
    }
    model = TSNMF(k, missing_values=np.nan, **options)
    begin = time.perf_counter()
    return read_problem(model, images), time.perf_counter() - begin


def seconds(problem: Problem, energy_weight: float) -> float:
    """The time of the fastest iteration."""
    stamps: list[float] = []

    def stamp(iteration: int, objectives: np.ndarray) -> bool:
        stamps.append(time.perf_counter())
        return False

    problem.solve([problem.weights | {"energy_weight": energy_weight}], stamp)
    return float(np.min(np.diff(stamps)))


def report() -> str:
    lines = [
        "| data | images | pixels | energy_weight | complete | 40% missing | ratio | "
        "the completion |",
        "| --- " * 8 + "|",
    ]
    for name in SETS:
        try:
            data = datasets.load(name, download=False)
        except FileNotFoundError:
            continue
        images, k = data.images.astype(float), len(np.unique(data.target))
        size = " x ".join(map(str, images.shape[1:]))
        holed = datasets.remove_entries(images, SHARE, fill=np.nan)
        (whole, _), (missing, before) = read(images, k), read(holed, k)
        for weight in WEIGHTS:
            # By turns, of which the fastest is the least disturbed by others.
            turns = [
                [seconds(problem, weight) for problem in (whole, missing)]
                for _ in range(TURNS)
            ]
            fastest = np.min(turns, axis=0)
            times = " | ".join(f"{1e3 * t:.1f} ms" for t in fastest)
            ratio = fastest[1] / fastest[0]
            what = f"| {name} | {len(images)} | {size} | {weight:g}"
            lines.append(f"{what} | {times} | {ratio:.2f} | {before:.1f} s |")
    return "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)

"""What missing entries cost an iteration of TSNMF, beside the same fit without."""

import time
import warnings

import numpy as np
import pages

from twofold import TSNMF, datasets
from twofold._progress import each_iteration

MARKER = "<!-- measured by benchmarks/missing_cost.py -->"

SETS, WEIGHTS, SHARE = ("orl", "eyaleb", "semeion", "digits"), (1.0, 0.1), 0.4
ROUNDS, ITERATIONS = 5, 10


def seconds(images: np.ndarray, k: int, weight: float) -> float:
    """The median time of an iteration."""
    stamps: list[float] = []
    with each_iteration(lambda *_: stamps.append(time.perf_counter())):
        TSNMF(
            k,
            energy_weight=weight,
            missing_values=np.nan,
            tol=0,
            max_iter=ITERATIONS,
            random_state=0,
        ).fit(images)
    return float(np.median(np.diff(stamps)))


def report() -> str:
    lines = [
        "| data | images | energy_weight | complete | 40% missing | ratio |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in SETS:
        try:
            data = datasets.load(name, download=False)
        except FileNotFoundError:
            continue
        images, k = data.images.astype(float), len(np.unique(data.target))
        holed = datasets.remove_entries(images, SHARE, fill=np.nan)
        for weight in WEIGHTS:
            # By turns, since the machine may be busy with something else.
            turns = [
                [seconds(stack, k, weight) for stack in (images, holed)]
                for _ in range(ROUNDS)
            ]
            whole, missing = np.median(turns, axis=0)
            ratio = np.median([after / before for before, after in turns])
            times = f"{1e3 * whole:.1f} ms | {1e3 * missing:.1f} ms | {ratio:.2f}"
            lines.append(f"| {name} | {len(images)} | {weight:g} | {times} |")
    return "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten iterations are few
        pages.publish(report(), MARKER, options.into)

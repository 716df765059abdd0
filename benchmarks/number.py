"""Numbers of clusters, structure, confidence and outliers, into docs/number.md.

Classes are used for scoring, and for the weights of the confidence.
"""

import tempfile
from pathlib import Path

import pages
from number_chosen import numbers
from number_confidence import confidence
from number_nothing import nothing
from number_outliers import outliers
from number_sets import write_photos

import twofold

MARKER = "<!-- measured by benchmarks/number.py: {} -->"

PARTS = {
    "numbers": numbers,
    "nothing": nothing,
    "confidence": confidence,
    "outliers": outliers,
}


def main() -> None:
    parser = pages.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--cache", type=Path, help="folder in which features are kept")
    options = parser.parse_args()
    pages.check(options.into, map(MARKER.format, options.only))
    with tempfile.TemporaryDirectory() as temporary:
        place = options.cache or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        if set(options.only) != {"outliers"}:
            write_photos(place)
        for name in options.only:
            text = f"`make number`: twofold {twofold.__version__}.\n\n"
            text += PARTS[name](place, options.jobs)
            pages.publish(text, MARKER.format(name), options.into)


if __name__ == "__main__":
    main()

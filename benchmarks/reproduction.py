"""What a store has of the paper's protocol, into docs/reproduction.md and its files."""

from pathlib import Path

import pages

from twofold.paper import Protocol, Store, markdown_page, summarize, write_all

MARKER = "<!-- written by benchmarks/reproduction.py -->"

FIGURES = (
    "eyaleb-accuracy",
    "orl-accuracy",
    "semeion-accuracy",
    "yale-accuracy",
    "orl-40-accuracy",
    "orl-60-accuracy",
    "orl-directions",
    "yale-directions",
    "orl-weights",
    "yale-weights",
    "convergence",
)
"""Those that the page shows; the others are in the output of the command."""


def keep(out: Path, docs: Path) -> None:
    """Copy the numbers and the figures of the page beside it."""
    folder = docs / "reproduction"
    folder.mkdir(exist_ok=True)
    names = ["tables.csv", "studies.csv", *(f"figures/{name}.svg" for name in FIGURES)]
    for name in names:
        source = out / name
        (folder / source.name).write_bytes(source.read_bytes())


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("reproduction"))
    options = parser.parse_args()
    with Store(options.store) as store:
        summary = summarize(Protocol(), store.results())
    write_all(summary, options.out)
    pages.publish(markdown_page(summary), MARKER, options.into)
    if options.into is not None:
        keep(options.out, options.into.parent)

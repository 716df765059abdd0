"""Pictures of a search: its scores over the grid and over the numbers of clusters."""

from typing import Any

import numpy as np

from twofold.estimators.search.cluster_numbers import Curve

Table = dict[str, list[Any]]
"""The columns of ``search_results_``."""


def plot_search(table: Table, curve: Curve | None, axes: Any = None) -> list[Any]:
    """Draw a map of the scores of the previews, and the curve if there is one.

    ``axes`` are one or two matplotlib axes; if None, new axes are made.
    """
    count = 1 if curve is None else 2
    if axes is None:
        axes = _new_axes(count)
    axes = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(axes) != count:
        raise ValueError(f"axes must be {count}, got {len(axes)}")
    _draw_grid(table, axes[0])
    if curve is not None:
        _draw_curve(curve, axes[1])
    return axes


def _new_axes(count: int) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "plot needs matplotlib: pip install 'twofold[plot]'"
        ) from None
    return plt.subplots(1, count, figsize=(6 * count, 4), layout="constrained")[1]


def _draw_grid(table: Table, axis: Any) -> None:
    """Draw a cell for every candidate.

    A row has one kind of channels, one graph and one number of directions.
    """
    rowwise = "channels", "graph", "n_directions"
    names = "stage", "n_clusters", *rowwise, "energy_weight", "score"
    # Of the numbers of clusters that were tried, only the fitted number is drawn.
    fitted = table["n_clusters"][table["stage"].index("fit")]
    cells = {
        (tuple(row), weight): score
        for stage, k, *row, weight, score in zip(
            *(table[name] for name in names), strict=True
        )
        if stage == "preview" and k == fitted
    }
    rows = sorted({row for row, _ in cells})
    columns = sorted({column for _, column in cells})
    scores = np.full((len(rows), len(columns)), np.nan)
    for (row, column), score in cells.items():
        scores[rows.index(row), columns.index(column)] = score
    picture = axis.imshow(scores, aspect="auto")
    for (i, j), score in np.ndenumerate(scores):
        text = "not tried" if np.isnan(score) else f"{score:.3f}"
        color = "white" if score < np.nanmean(scores) else "black"  # on a dark cell
        axis.text(j, i, text, ha="center", va="center", color=color)
    axis.set_xticks(range(len(columns)), [f"{weight:g}" for weight in columns])
    axis.set_yticks(range(len(rows)), [", ".join(map(str, row)) for row in rows])
    axis.set(xlabel="energy_weight", ylabel=", ".join(rowwise))
    axis.set_title("Score of each preview")
    axis.figure.colorbar(picture, ax=axis)


def _draw_curve(curve: Curve, axis: Any) -> None:
    """Draw the scores over the numbers of clusters, the choice and the likely range."""
    axis.plot(curve.numbers, curve.scores, marker="o")
    axis.axvspan(*curve.likely, alpha=0.2, label="likely")
    axis.axvline(curve.chosen, linestyle="--", label=f"chosen: {curve.chosen}")
    axis.set(xlabel="n_clusters", ylabel="score")
    axis.set_title("Score of each number of clusters")
    axis.legend()

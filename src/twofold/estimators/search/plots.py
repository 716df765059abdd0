"""Pictures of a search: its scores over the grid and over the numbers of clusters."""

from typing import Any

import numpy as np

from twofold.estimators.search.cluster_numbers import Curve

Table = dict[str, list[Any]]


def plot_search(table: Table, curve: Curve | None, axes: Any = None) -> list[Any]:
    """A map of the looks' scores, and a curve where several numbers were tried.

    Parameters
    ----------
    table : dict of str to list
        ``search_results_``.
    curve : Curve or None
    axes : sequence of matplotlib axes or None
        One or two; None makes them.
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
    """A cell for each setting: energy weights across, graphs and directions down."""
    fitted = [
        k
        for k, s in zip(table["n_clusters"], table["stage"], strict=True)
        if s == "fit"
    ]
    rows = [
        i
        for i, stage in enumerate(table["stage"])
        if stage == "preview" and table["n_clusters"][i] == fitted[0]
    ]
    place = {
        i: ((table["graph"][i], table["n_directions"][i]), table["energy_weight"][i])
        for i in rows
    }
    down = sorted({down for down, _ in place.values()})
    across = sorted({across for _, across in place.values()})
    scores = np.full((len(down), len(across)), np.nan)
    for i, (one, other) in place.items():
        scores[down.index(one), across.index(other)] = table["score"][i]
    picture = axis.imshow(scores, aspect="auto")
    for (i, j), score in np.ndenumerate(scores):
        axis.text(
            j,
            i,
            "not tried" if np.isnan(score) else f"{score:.3f}",
            ha="center",
            va="center",
            color="white" if score < np.nanmean(scores) else "black",
        )
    axis.set_xticks(range(len(across)), [f"{weight:g}" for weight in across])
    axis.set_yticks(range(len(down)), [f"{graph}, {r}" for graph, r in down])
    axis.set(
        xlabel="energy_weight",
        ylabel="graph, n_directions",
        title="Score at a first look",
    )
    axis.figure.colorbar(picture, ax=axis)


def _draw_curve(curve: Curve, axis: Any) -> None:
    """Scores over numbers of clusters, with the chosen one and the likely range."""
    axis.plot(curve.numbers, curve.scores, marker="o")
    axis.axvspan(*curve.likely, alpha=0.2, label="likely")
    axis.axvline(curve.chosen, linestyle="--", label=f"chosen: {curve.chosen}")
    axis.set(
        xlabel="n_clusters", ylabel="score", title=f"Confidence {curve.confidence:.0%}"
    )
    axis.legend()

"""Figures: scores against N, against r and over both weights, and convergence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from twofold.paper.comparison import Table
from twofold.paper.objects import find_method
from twofold.paper.published import METRICS, Cell
from twofold.paper.studies import Study

# In the order of ``all_methods``. The missing-aware forms have lighter colours.
_COLORS = (
    *("#7f7f7f", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#9467bd", "#2ca02c"),
    *("#ff7f0e", "#1f77b4", "#d62728", "#98df8a", "#aec7e8", "#ff9896"),
)
_MARKERS = "ovs^<>DpXPDXP"
_HEADLINE = "ts-nmf"
"""Method that is drawn with a thicker line."""


def new_figure(width: float, height: float) -> Figure:
    """Return a figure without a window."""
    # Unlike pyplot, a Figure with its own canvas needs no display and no closing.
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def against_clusters(table: Table) -> Figure:
    """Draw the scores of all methods against N, and the paper's if it has any."""
    figure = new_figure(9, 3.8)
    sources: list[tuple[Any, str]] = [(table.ours, "measured")]
    if table.paper:
        sources.append((table.paper, "the paper's"))
    [panels] = figure.subplots(1, len(sources), sharex=True, sharey=True, squeeze=False)
    for axes, (cells, title) in zip(panels, sources, strict=True):
        for index, method in enumerate(table.methods):
            if cells is table.ours or not find_method(method).handles_missing:
                _draw_curve(axes, table, cells, method, index)
        axes.set(title=title, xlabel="number of clusters N")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    published = [table.paper.get((n, _HEADLINE), Cell(None)).mean for n in table.rows]
    if any(mean is not None for mean in published):
        values = np.array(published, dtype=float)
        label = "TS-NMF, the paper's"
        panels[0].plot(table.rows, values, "--", color="black", lw=1.2, label=label)
    panels[0].set(ylabel=f"{METRICS[table.metric]} (%)")
    figure.suptitle(table.title)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _draw_curve(axes: Any, table: Table, cells: Any, method: str, index: int) -> None:
    """Draw means and standard deviations of one method against N."""
    points = [(n, cells.get((n, method), Cell(None))) for n in table.rows]
    points = [(n, cell) for n, cell in points if cell.mean is not None]
    is_headline = method == _HEADLINE
    axes.errorbar(
        [n for n, _ in points],
        [cell.mean for _, cell in points],
        yerr=[cell.std or 0.0 for _, cell in points],
        label=find_method(method).title,
        color=_COLORS[index % len(_COLORS)],
        marker=_MARKERS[index % len(_MARKERS)],
        markersize=5 if is_headline else 3.5,
        lw=2.2 if is_headline else 1,
        elinewidth=0.7,
        capsize=2,
        zorder=3 if is_headline else 2,
    )


def against_directions(study: Study, title: str) -> Figure:
    """Draw every measure against r, for the methods that have directions."""
    figure = new_figure(9, 3.4)
    panels = figure.subplots(1, len(METRICS), sharex=True, sharey=True)
    for axes, (metric, name) in zip(panels, METRICS.items(), strict=True):
        # In one order, so that a method has the same colour on all data sets.
        for (method, measure), curve in sorted(study.directions.items()):
            if measure == metric and len(curve) > 1:
                r = sorted(curve)
                shown = find_method(method).title
                axes.plot(r, [curve[x] for x in r], marker="o", ms=4, label=shown)
        axes.set(title=name, xlabel="directions r")
        axes.set_xticks(sorted(set().union(*study.directions.values())))
        axes.grid(alpha=0.3)
    panels[0].set(ylabel="percent")
    figure.suptitle(f"{title}, N = {study.n_clusters}")
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names))
    return figure


def over_weights(study: Study, title: str) -> Figure:
    """Draw heat maps of the measures of TS-NMF over its two weights."""
    figure = new_figure(9.5, 3.2)
    panels = figure.subplots(1, len(METRICS), sharey=True)
    scores = [score for grid in study.weights.values() for score in grid.values()]
    scale = {"vmin": min(scores), "vmax": max(scores), "cmap": "viridis"}
    for axes, (metric, name) in zip(panels, METRICS.items(), strict=True):
        grid = study.weights[metric]
        energies = sorted({energy for energy, _ in grid})
        graphs = sorted({graph for _, graph in grid})
        # NaN leaves the cell of a pair without a result empty.
        values = [[grid.get((e, g), np.nan) for g in graphs] for e in energies]
        shown = axes.imshow(values, origin="lower", aspect="auto", **scale)
        axes.set_xticks(range(len(graphs)), [f"{g:g}" for g in graphs], rotation=45)
        axes.set_yticks(range(len(energies)), [f"{e:g}" for e in energies])
        axes.set(title=name, xlabel="graph_weight")
    figure.colorbar(shown, ax=panels, label="percent")
    panels[0].set(ylabel="energy_weight")
    figure.suptitle(f"TS-NMF, {title}, N = {study.n_clusters}, best over r")
    return figure


def convergence(studies: Sequence[Study], titles: dict[str, str]) -> Figure:
    """Draw the objective of TS-NMF on every data set, scaled to fall from 1 to 0."""
    figure = new_figure(7.5, 3.6)
    axes = figure.subplots()
    for study in studies:
        trace = np.array(study.trace)
        if len(trace) > 1 and trace[0] != trace[-1]:  # no division by zero below
            scaled = (trace - trace[-1]) / abs(trace[0] - trace[-1])
            axes.plot(np.arange(1, len(trace) + 1), scaled, label=titles[study.data])
    axes.set(
        xlabel="iteration",
        ylabel="objective: distance to the last value,\nas part of the first's",
        title="TS-NMF, r = 5, both weights 1",
        xscale="log",
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure

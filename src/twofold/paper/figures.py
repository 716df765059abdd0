"""Figures: scores against N, against r and over the weights, and convergence."""

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

_COLORS = (
    "#7f7f7f",
    "#8c564b",
    "#e377c2",
    "#17becf",
    "#bcbd22",
    "#9467bd",
    "#2ca02c",
    "#ff7f0e",
    "#1f77b4",
    "#d62728",
    "#98df8a",
    "#aec7e8",
    "#ff9896",
)
_MARKERS = "ovs^<>DpXPDXP"
_HEADLINE = "ts-nmf"


def new_figure(width: float, height: float) -> Figure:
    """A figure that belongs to no window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def against_clusters(table: Table) -> Figure:
    """All methods against N: measured, and the paper's if there are any."""
    figure = new_figure(9, 3.8)
    sources: list[tuple[Any, str]] = [(table.ours, "measured")]
    if table.paper:
        sources.append((table.paper, "the paper's"))
    panels = figure.subplots(1, len(sources), sharey=True, sharex=True, squeeze=False)[
        0
    ]
    for axes, (cells, title) in zip(panels, sources, strict=True):
        for place, method in enumerate(table.methods):
            if cells is table.ours or not find_method(method).handles_missing:
                _draw_curve(axes, table, cells, method, place)
        axes.set(title=title, xlabel="number of clusters N")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    theirs = [table.paper.get((n, _HEADLINE), Cell(None)).mean for n in table.rows]
    if any(mean is not None for mean in theirs):
        values = np.array(theirs, dtype=float)
        label = "TS-NMF, the paper's"
        panels[0].plot(table.rows, values, "--", color="black", lw=1.2, label=label)
    panels[0].set(ylabel=f"{METRICS[table.metric]} (%)")
    figure.suptitle(table.title)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _draw_curve(axes: Any, table: Table, cells: Any, method: str, place: int) -> None:
    nothing = Cell(None)
    found = [(n, cells.get((n, method), nothing)) for n in table.rows]
    found = [(n, cell) for n, cell in found if cell.mean is not None]
    rows = [n for n, _ in found]
    means = [cell.mean for _, cell in found]
    deviations = [cell.std or 0.0 for _, cell in found]
    loud = method == _HEADLINE
    axes.errorbar(
        rows,
        means,
        yerr=deviations,
        label=find_method(method).title,
        color=_COLORS[place % len(_COLORS)],
        marker=_MARKERS[place % len(_MARKERS)],
        markersize=5 if loud else 3.5,
        lw=2.2 if loud else 1,
        elinewidth=0.7,
        capsize=2,
        zorder=3 if loud else 2,
    )


def against_directions(study: Study, title: str) -> Figure:
    """Every measure against r, for the methods that have directions."""
    figure = new_figure(9, 2.9)
    panels = figure.subplots(1, len(METRICS), sharex=True)
    for axes, (metric, name) in zip(panels, METRICS.items(), strict=True):
        for (method, of), curve in study.directions.items():
            if of == metric and len(curve) > 1:
                r = sorted(curve)
                shown = find_method(method).title
                axes.plot(r, [curve[x] for x in r], marker="o", ms=4, label=shown)
        axes.set(title=name, xlabel="directions r")
        axes.grid(alpha=0.3)
    panels[0].set(ylabel="percent")
    panels[0].legend()
    figure.suptitle(f"{title}, N = {study.n_clusters}")
    return figure


def over_weights(study: Study, title: str) -> Figure:
    """Heat maps of TS-NMF's measures over its two weights."""
    figure = new_figure(9.5, 3.2)
    panels = figure.subplots(1, len(METRICS))
    for axes, (metric, name) in zip(panels, METRICS.items(), strict=True):
        grid = study.weights[metric]
        energies = sorted({energy for energy, _ in grid})
        graphs = sorted({graph for _, graph in grid})
        nowhere = float("nan")
        values = [[grid.get((e, g), nowhere) for g in graphs] for e in energies]
        shown = axes.imshow(values, origin="lower", cmap="viridis", aspect="auto")
        axes.set_xticks(range(len(graphs)), [f"{g:g}" for g in graphs], rotation=45)
        axes.set_yticks(range(len(energies)), [f"{e:g}" for e in energies])
        axes.set(title=f"{name} (%)", xlabel="graph_weight")
        figure.colorbar(shown, ax=axes)
    panels[0].set(ylabel="energy_weight")
    figure.suptitle(f"TS-NMF, {title}, N = {study.n_clusters}, best over r")
    return figure


def convergence(found: Sequence[Study], titles: dict[str, str]) -> Figure:
    """The objective of TS-NMF on every data set, from its first value to its last."""
    figure = new_figure(7.5, 3.6)
    axes = figure.subplots()
    for study in found:
        trace = np.array(study.trace)
        if len(trace) > 1 and trace[0] != trace[-1]:
            part = (trace - trace[-1]) / abs(trace[0] - trace[-1])
            axes.plot(np.arange(1, len(trace) + 1), part, label=titles[study.data])
    axes.set(
        xlabel="iteration",
        ylabel="objective: distance to the last value,\nas part of the first's",
        title="TS-NMF, r = 5, both weights 1",
        xscale="log",
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure

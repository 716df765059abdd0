"""The settings of TSNMF that are searched, and the fits of the best of them."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sklearn.base import clone

from twofold.core.graphs import KINDS, default_kind, graph_kind
from twofold.estimators.problem import Problem, check_weights
from twofold.estimators.samples import is_count
from twofold.estimators.search.candidates import (
    Look,
    Observer,
    Setting,
    by_score,
    mean_visibility,
    visibility,
)
from twofold.estimators.tsnmf import TSNMF

Row = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """A fitted model and how much its labels stand out.

    Attributes
    ----------
    model : TSNMF
    visibility : dict of str to float
        In the graphs of each kind.
    seconds : float
        Its part of the time that a batch took.
    """

    model: TSNMF
    visibility: dict[str, float]
    seconds: float

    @property
    def score(self) -> float:
        """The mean visibility; NaN where nothing could be looked at."""
        return mean_visibility(self.visibility) if self.visibility else float("nan")


@dataclass(frozen=True)
class Plan:
    """How the best setting is fitted.

    Attributes
    ----------
    seeds : list of int
        Of the starts.
    graph_weights : list of float
        Which are fitted in one batch.
    most : int
        Fits.
    tell : callable
        Called with "fitting" and a line on each fit.
    """

    seeds: list[int]
    graph_weights: list[float]
    most: int
    tell: Callable[[str, str], None]


def grid(
    base: TSNMF,
    problem: Problem,
    graphs: Sequence[str],
    n_directions: Sequence[int] | None,
    energy_weights: Sequence[float],
) -> list[Setting]:
    """All settings, the likeliest first, for a problem that was read with ``base``."""
    kinds = list(dict.fromkeys(graphs))
    if not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"graphs must be some of {tuple(KINDS)}, got {graphs!r}")
    entries = math.prod(problem.samples.shape[1:])
    kinds = [kind for kind in kinds if graph_kind(kind).min_features <= entries]
    kinds = kinds or [default_kind(entries).name]
    if n_directions is None:
        usual = max(problem.settings.n_directions)
        n_directions = (usual, 2 * usual + 1)
    if not len(n_directions) or not all(map(is_count, n_directions)):
        raise ValueError(
            f"n_directions must be positive integers, or None, got {n_directions!r}"
        )
    longest = max(problem.samples.shape[2:])
    directions = dict.fromkeys(min(int(r), longest) for r in n_directions)
    weights = list(dict.fromkeys(map(float, energy_weights)))
    return [
        Setting(
            kind, base.n_neighbors or graph_kind(kind).n_neighbors_in_search, r, weight
        )
        for r in directions
        # Where all directions are kept, it does not matter which are the first.
        for weight in (weights if r < longest else weights[:1])
        for kind in kinds
    ]


_SEARCHED = {
    "graph": "graphs",
    "n_directions": "n_directions",
    "energy_weight": "energy_weights",
    "graph_weight": "graph_weights",
}
"""Parameters of TSNMF, and those of AutoTSNMF that say what of them is tried."""


def check_unsearched(base: TSNMF) -> None:
    """Refuse an estimator with parameters that are searched."""
    defaults = TSNMF().get_params()
    for name, instead in _SEARCHED.items():
        if getattr(base, name) != defaults[name]:
            raise ValueError(
                f"estimator must leave {name} to the search, got "
                f"{name}={getattr(base, name)!r}; set {instead} of AutoTSNMF"
            )


def check_all_weights(
    base: TSNMF, problem: Problem, energy: Sequence[float], graph: Sequence[float]
) -> None:
    """Refuse weights that TSNMF would."""
    for name, weights in (("energy_weights", energy), ("graph_weights", graph)):
        if not len(weights):
            raise ValueError(f"{name} must be some numbers, got {weights!r}")
    pairs = list(product(energy, graph))
    for one, other in pairs:
        clone(base).set_params(energy_weight=one, graph_weight=other)._validate_params()
    check_weights(pairs, problem.samples)


def fit_best(
    base: TSNMF,
    looks: list[Look],
    observer: Observer,
    plan: Plan,
    data: dict[str, Any],
) -> list[Fit]:
    """Fits of the setting that looks best, a batch for each start, while there is time.

    ``data`` is what ``fit_sweep`` takes: X and a mask.
    """
    best = by_score(looks)[0]
    setting, found = best.setting, list[Fit]()
    for seed in plan.seeds:
        weights = plan.graph_weights[: plan.most - len(found)]
        if not weights or (found and observer.is_late()):
            break
        model = clone(base).set_params(
            n_clusters=best.k, random_state=seed, **vars(setting)
        )
        begin = time.perf_counter()
        pairs = [(setting.energy_weight, weight) for weight in weights]
        models = model.fit_sweep(weights=pairs, **data)
        seconds = (time.perf_counter() - begin) / len(models)
        for model in models:
            seen = visibility(observer.labels_of(model), looks)
            found.append(Fit(model, seen, seconds))
            about = f"{setting}, graph_weight={model.graph_weight:g}"
            plan.tell("fitting", f"{about}: score {found[-1].score:.4f}")
    return found


def results(looks: Iterable[Look], fits: list[Fit]) -> dict[str, list[Any]]:
    """A table of looks and fits, as columns; None where a row has no such entry."""
    numbers: dict[int, list[Look]] = {}
    for look in looks:
        numbers.setdefault(look.k, []).append(look)
    rows = [row for same in numbers.values() for row in _look_rows(same)]
    rows += [_fit_row(fit) for fit in fits]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _look_rows(looks: list[Look]) -> list[Row]:
    """What a table says of looks at one number of clusters."""
    rows = []
    for look in looks:
        seen = visibility(look.labels, looks)
        rows.append(
            {
                "stage": "look",
                "n_clusters": look.k,
                **vars(look.setting),
                "graph_weight": None,
                "seed": None,
                "score": mean_visibility(seen),
                **{f"{kind}_visibility": excess for kind, excess in seen.items()},
                "seconds": look.seconds,
            }
        )
    return rows


def _fit_row(fit: Fit) -> Row:
    """What a table says of a fit."""
    model = fit.model
    return {
        "stage": "fit",
        "n_clusters": model.n_clusters,
        "graph": model.graph,
        "n_neighbors": model.n_neighbors,
        "n_directions": model.n_directions,
        "energy_weight": model.energy_weight,
        "graph_weight": model.graph_weight,
        "seed": model.random_state,
        "score": fit.score,
        **{f"{kind}_visibility": excess for kind, excess in fit.visibility.items()},
        "seconds": fit.seconds,
    }

"""Which model the options of ``twofold cluster`` ask for."""

import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from twofold import TSNMF, AutoTSNMF

PARAMETERS = {
    "--graph": "graph",
    "--energy-weight": "energy_weight",
    "--graph-weight": "graph_weight",
    "--directions": "n_directions",
    "--neighbors": "n_neighbors",
    "--starts": "n_init",
    "--max-iter": "max_iter",
    "--tol": "tol",
}
"""Options that set a parameter of TSNMF: with any of them nothing is searched."""

_NUMBERS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True)
class Wanted:
    """A model to be made.

    Attributes
    ----------
    clusters : str
        How many, as it was given.
    numbers : int, range or None
        The same as ``n_clusters`` of AutoTSNMF.
    settings : dict of str to value
        The parameters of TSNMF that were given.
    max_time : float or None
        Seconds for a search.
    cache : Path or None
        The folder in which a search keeps its looks.
    missing : float or None
        What stands for a missing entry.
    seed : int
    """

    clusters: str
    numbers: int | range | None
    settings: dict[str, Any]
    max_time: float | None
    cache: Path | None
    missing: float | None
    seed: int


def read_wanted(
    clusters: str,
    options: dict[str, Any],
    *,
    max_time: float | None,
    cache: Path | None,
    missing: float | None,
    seed: int,
) -> Wanted:
    """What options ask for; a BadParameter where they do not go together.

    Parameters
    ----------
    clusters : str
        A number, a range or "auto".
    options : dict of str to value
        Of ``PARAMETERS``; None where one was not given.
    max_time, cache, missing, seed
        As in ``Wanted``.
    """
    numbers = _read_numbers(clusters)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if not isinstance(numbers, int):
            raise typer.BadParameter(
                f"expected one number, such as 12, with {option}, which leaves the "
                f"search out, got {clusters}; name one, or leave {option} out",
                param_hint="--clusters",
            )
        for own, value in (("--max-time", max_time), ("--cache", cache)):
            if value is not None:
                raise typer.BadParameter(
                    f"is for the search, which {option} leaves out; give one of them",
                    param_hint=own,
                )
    settings = {PARAMETERS[option]: value for option, value in given.items()}
    return Wanted(clusters, numbers, settings, max_time, cache, missing, seed)


def _read_numbers(text: str) -> int | range | None:
    """'12' as 12, '8-16' as a range with both ends, 'auto' as None."""
    if text == "auto":
        return None
    found = _NUMBERS.fullmatch(text)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= low <= high:
        raise typer.BadParameter(
            "expected a number from 1, such as 12, a range, such as 8-16, or auto, "
            f"got {text}",
            param_hint="--clusters",
        )
    return low if low == high else range(low, high + 1)


def check_count(wanted: Wanted, count: int) -> None:
    """Refuse more clusters than there are samples."""
    numbers = wanted.numbers
    if numbers is None:
        return
    if (numbers if isinstance(numbers, int) else numbers[-1]) > count:
        raise ValueError(
            f"-k {wanted.clusters} must be at most {count}, the number of samples; "
            "take fewer clusters, or -k auto"
        )


def model_of(wanted: Wanted) -> "TSNMF | AutoTSNMF":
    """TSNMF where a parameter of it was given, else the search for the best one."""
    from twofold import TSNMF, AutoTSNMF

    base = TSNMF(missing_values=wanted.missing)
    if wanted.settings:
        base.set_params(n_clusters=wanted.numbers, random_state=wanted.seed)
        base.set_params(**wanted.settings)
        _check_parameters(base)
        return base
    return AutoTSNMF(
        wanted.numbers,
        estimator=base,
        max_time=wanted.max_time,
        cache=wanted.cache,
        random_state=wanted.seed,
    )


def _check_parameters(model: "TSNMF") -> None:
    """Raise a BadParameter if the estimator refuses one of its parameters.

    The parser leaves the kinds of graphs to the estimator: importing it to list them
    would make every command slow.
    """
    try:
        model._validate_params()
    except ValueError as error:
        named = (o for o, name in PARAMETERS.items() if f"'{name}'" in str(error))
        raise typer.BadParameter(str(error), param_hint=next(named, None)) from error


def choice_facts(model: "TSNMF | AutoTSNMF") -> dict[str, Any]:
    """What a search has chosen, as plain values; nothing where there was none.

    Returns
    -------
    dict
        ``chosen``: the settings, and their ``score``, None where nothing could be
        compared. ``out_of_time``. Where several numbers of clusters were tried,
        ``cluster_numbers``: what ``Curve`` has.
    """
    from twofold import TSNMF

    if isinstance(model, TSNMF):
        return {}
    best, score = model.best_estimator_, model.best_score_
    names = ("graph", "n_neighbors", "n_directions", "energy_weight", "graph_weight")
    chosen = {name: getattr(best, name) for name in names}
    facts: dict[str, Any] = {
        "chosen": chosen | {"score": score if math.isfinite(score) else None},
        "out_of_time": model.out_of_time_,
    }
    if model.cluster_numbers_ is not None:
        curve = model.cluster_numbers_
        facts["cluster_numbers"] = {**asdict(curve), "at_end": curve.at_end}
    return facts

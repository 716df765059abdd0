"""Whether a dict is a summary: a file may hold anything."""

import re
from itertools import pairwise
from typing import Any

from twofold.app.report.pictures import names_image

FORMAT, VERSION = "twofold report", 1

_PICTURE = re.compile(r"data:image/(png|webp|jpeg);base64,[A-Za-z0-9+/]+=*")
_LINK = re.compile(r"(\./|file:///([A-Za-z]:/)?)(?!/|.*//)[A-Za-z0-9%/._~-]*")
"""On this machine: two slashes in a row could lead to another one."""

_NUMBER = (int, float)
_LARGEST_INT, _LARGEST = 2**53, 1e300
PLAIN = (str, int, float, bool, type(None))
"""Kinds of parameters that a report shows."""

_SIDES = ("left", "right", "both")

_VIEW = {
    "side": str,
    "picture": _PICTURE,
    "directions": [int],
    "many": [int],
    "kept": _NUMBER,
}
_PAIR = {"item": int, "share": _NUMBER, "before": _PICTURE, "after": _PICTURE}
_MISSING = {
    "images": int,
    "share": _NUMBER,
    "least": _NUMBER,
    "most": _NUMBER,
    "pairs": [_PAIR],
}
_TRIAL = {
    "graph": str,
    "n_directions": (int, None),
    "energy_weight": _NUMBER,
    "score": (_NUMBER, None),
}
_NUMBERS = {
    "numbers": [int],
    "scores": [_NUMBER],
    "chosen": int,
    "confidence": _NUMBER,
    "likely": [int],
}
_SEARCH = {
    "tried": int,
    "looks": [_TRIAL],
    "fits": [_TRIAL],
    "out_of_time": bool,
    "numbers": (_NUMBERS, None),
}
_SCORES = dict.fromkeys(("accuracy", "nmi", "purity", "ari"), _NUMBER)
_CONFUSION = {"classes": [str], "clusters": [int], "counts": [[int]]}
_SCHEMA = {
    "format": str,
    "version": int,
    "twofold": str,
    "title": str,
    "images": int,
    "shape": [int],
    "parameters": dict,
    "skipped": [[str]],
    "items": [
        {
            "name": str,
            "link": (_LINK, None),
            "cluster": int,
            "confidence": _NUMBER,
            "error": _NUMBER,
            "class": (str, None),
            "x": _NUMBER,
            "y": _NUMBER,
        }
    ],
    "sheets": {"side": int, "width": int, "images": [_PICTURE], "places": [[int]]},
    "clusters": [
        {
            "number": int,
            "size": int,
            "tightness": _NUMBER,
            "centroid": _PICTURE,
            "items": [int],
        }
    ],
    "outliers": [int],
    "duplicates": [[int]],
    "duplicate_groups": int,
    "duplicate_images": int,
    "missing": (_MISSING, None),
    "search": (_SEARCH, None),
    "convergence": {"objective": [_NUMBER], "max_iter": int},
    "projections": {"mean": _PICTURE, "views": [_VIEW]},
    "scores": ({"values": _SCORES, "confusion": (_CONFUSION, None)}, None),
}


def check_summary(summary: Any) -> None:
    """Raise a ValueError that says what is wrong, unless it is a summary.

    Pictures and links are looked at too, since they go into a page as they are.
    """
    if not isinstance(summary, dict) or summary.get("format") != FORMAT:
        raise ValueError(f"it is no {FORMAT}")
    if summary.get("version") != VERSION:
        raise ValueError(
            f"it is of version {summary.get('version')!r}, and this twofold reads "
            f"version {VERSION}"
        )
    # Only reports of images with missing pixels have a word on them, or of a search.
    _check({"missing": None, "search": None} | summary, _SCHEMA, "the report")
    _check_places(summary)
    _check_thumbnails(summary)
    _check_tables(summary)
    if summary.get("search"):
        _check_numbers(summary["search"]["numbers"])


def _check(value: Any, wanted: Any, where: str) -> None:
    """Compare a value with a type, a pattern, or a list, dict or choice of those."""
    if isinstance(wanted, tuple) and not all(isinstance(w, type) for w in wanted):
        if value is None and None in wanted:
            return
        wanted = next(w for w in wanted if w is not None)
    if isinstance(wanted, dict) and isinstance(value, dict):
        odd = value.keys() ^ wanted.keys()
        if odd:
            what = "has no" if min(odd) in wanted else "should not have"
            raise ValueError(f"{where} {what} {min(odd)}")
        for key, inner in wanted.items():
            _check(value[key], inner, f"{key} of {where}")
    elif isinstance(wanted, list) and isinstance(value, list):
        for item in value:
            _check(item, wanted[0], f"an entry of {where}")
    elif not _is_a(value, wanted):
        raise ValueError(f"{where} is {str(value)[:40]!r}, which it cannot be")


def _is_a(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, re.Pattern):
        return isinstance(value, str) and wanted.fullmatch(value) is not None
    if isinstance(wanted, dict | list):
        return False
    if isinstance(value, bool) or not isinstance(value, wanted):
        return isinstance(value, bool) and wanted is bool
    if isinstance(value, str):
        return _is_text(value)
    if isinstance(value, float):
        return abs(value) <= _LARGEST
    return not isinstance(value, int) or abs(value) <= _LARGEST_INT


def _is_text(value: str) -> bool:
    """Whether a file can hold it."""
    return not any("\ud800" <= c <= "\udfff" for c in value)


def _check_places(summary: dict[str, Any]) -> None:
    """Every image that is named is there, and every one is in its cluster."""
    items, clusters = summary["items"], summary["clusters"]
    named = summary["outliers"] + [i for group in summary["duplicates"] for i in group]
    if summary.get("missing"):
        named = named + [pair["item"] for pair in summary["missing"]["pairs"]]
    if not all(0 <= i < len(items) for i in named):
        raise ValueError("it names images that it does not have")
    links = [item["link"] for item in items if item["link"] is not None]
    if not all(map(names_image, links)):
        raise ValueError("it has links to what is not named as an image")
    inside = sorted((i, c["number"]) for c in clusters for i in c["items"])
    if inside != [(i, item["cluster"]) for i, item in enumerate(items)]:
        raise ValueError("its clusters are not those of its images")


def _check_thumbnails(summary: dict[str, Any]) -> None:
    sheets = summary["sheets"]
    places = sheets["places"]
    if len(places) != len(summary["items"]) or any(len(place) != 5 for place in places):
        raise ValueError("its thumbnails are not those of its images")
    if sheets["width"] < 1 or any(min(place) < 0 for place in places):
        raise ValueError("its thumbnails are in places that no sheet has")
    if not all(place[0] < len(sheets["images"]) for place in places):
        raise ValueError("it names sheets of thumbnails that it does not have")
    if sheets["side"] < 1 or not summary["convergence"]["objective"]:
        raise ValueError("its thumbnails or its objective are empty")


def _check_tables(summary: dict[str, Any]) -> None:
    if not all(len(pair) == 2 for pair in summary["skipped"]):
        raise ValueError("its skipped files are not pairs of a name and a reason")
    parameters = summary["parameters"]
    plain = all(isinstance(value, PLAIN) for value in parameters.values())
    texts = [*parameters, *(v for v in parameters.values() if isinstance(v, str))]
    if not plain or not all(isinstance(t, str) and _is_text(t) for t in texts):
        raise ValueError("its parameters are not plain values")
    if not all(view["side"] in _SIDES for view in summary["projections"]["views"]):
        raise ValueError(f"its projections are not {', '.join(_SIDES)}")
    table = summary["scores"] and summary["scores"]["confusion"]
    if table and (
        len(table["counts"]) != len(table["classes"])
        or not all(len(row) == len(table["clusters"]) for row in table["counts"])
        or not all(count >= 0 for row in table["counts"] for count in row)
    ):
        raise ValueError("its confusion table is not one count for each pair")


def _check_numbers(found: dict[str, Any] | None) -> None:
    """Numbers of clusters: they rise, and the chosen and likely ones are among them."""
    if found is None:
        return
    numbers, likely = found["numbers"], found["likely"]
    rising = all(one < other for one, other in pairwise(numbers))
    if not numbers or not rising or len(numbers) != len(found["scores"]):
        raise ValueError("its numbers of clusters do not rise, each with a score")
    if len(likely) != 2 or likely != sorted(likely):
        raise ValueError("its likely numbers of clusters are no range")
    if not {found["chosen"], *likely} <= set(numbers):
        raise ValueError("its choice of a number of clusters is none of those tried")

"""The page: templates with autoescape, everything inside one file."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from twofold.app.report.chart import line_chart
from twofold.app.report.check import check_summary
from twofold.app.report.search import UNSURE, number_chart

Summary = dict[str, Any]

_SHOWN_WIDTH = 84
"""Small thumbnails are enlarged by a whole number to about this many pixels."""


def render(summary: Summary) -> str:
    """A report as one HTML file that loads nothing.

    Parameters
    ----------
    summary : dict
        As from ``summarize``, or read back from its JSON.

    Returns
    -------
    str
    """
    check_summary(summary)
    page = _filled(summary)
    return page.replace("\r", "&#13;")  # in a file name; HTML takes it for a new line


def _filled(summary: Summary) -> str:
    numbers = (summary.get("search") or {}).get("numbers")
    style, script = (_part(name) for name in ("report.css", "report.js"))
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            s=summary,
            style=style,
            script=script,
            script_digest=_digest(script),
            zoom=max(1, round(_SHOWN_WIDTH / summary["sheets"]["side"])),
            skipped=_by_reason(summary["skipped"]),
            curve=line_chart(summary["convergence"]["objective"]),
            number_curve=numbers and number_chart(numbers),
            unsure=bool(numbers and numbers["confidence"] < UNSURE),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("twofold.app.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda part: f"{100 * part:.0f}%"
    environment.filters["count"] = lambda number: f"{number:,}"
    return environment


@cache
def _part(name: str) -> str:
    return files("twofold.app.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """What the page's security policy knows its one script by; no other may run."""
    found = hashlib.sha256(script.encode()).digest()
    return "sha256-" + base64.b64encode(found).decode()


def _by_reason(skipped: list[list[str]]) -> list[tuple[str, list[str]]]:
    """The names of skipped files under each reason, the most frequent one first."""
    ordered = sorted(skipped, key=lambda pair: pair[1])
    grouped = groupby(ordered, key=lambda pair: pair[1])
    reasons = [(reason, [name for name, _ in pairs]) for reason, pairs in grouped]
    return sorted(reasons, key=lambda pair: -len(pair[1]))

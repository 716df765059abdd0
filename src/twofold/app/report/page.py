"""The page: one HTML file made from templates, which escape all texts."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from itertools import groupby

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from twofold.app.report.summary import SECTIONS, Report

_SHOWN_WIDTH = 84
"""Approximate width of a thumbnail in pixels; small ones are enlarged to it."""


def render(report: Report) -> str:
    """Return a report as the text of one HTML file, which loads nothing."""
    style, script = (_read_text(name) for name in ("report.css", "report.js"))
    entries = "entries" if len(report.shape) == 1 else "pixels"
    template = _environment().get_template("report.html.j2")
    page = template.render(
        report=report,
        sections=_links(report, entries),
        entries=entries,
        data=msgspec.to_builtins(report.items),
        style=style,
        script=script,
        script_digest=_digest(script),
        zoom=max(1, round(_SHOWN_WIDTH / report.sheets.side)),
        skipped=_by_reason(report.skipped),
    )
    # HTML would read a carriage return, as in a file name, as a line feed.
    return page.replace("\r", "&#13;")


def _links(report: Report, entries: str) -> dict[str, str]:
    """Return the text of the link to each section that applies, by section name."""
    return {
        name: section.link.format(entries=entries)
        for name, section in SECTIONS.items()
        if section.build is None or getattr(report, name) is not None
    }


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("twofold.app.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["score"] = lambda s: "unknown" if s is None else f"{s:.2f}"
    environment.filters["percent"] = lambda part: f"{100 * part:.0f}%"
    environment.filters["count"] = lambda number: f"{number:,}"
    return environment


@cache
def _read_text(name: str) -> str:
    return files("twofold.app.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """Return the hash by which the page's security policy admits its only script."""
    digest = hashlib.sha256(script.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


def _by_reason(skipped: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Group the names of skipped files by reason, the most frequent reason first."""
    ordered = sorted(skipped, key=lambda pair: pair[1])
    grouped = groupby(ordered, key=lambda pair: pair[1])
    reasons = [(reason, [name for name, _ in pairs]) for reason, pairs in grouped]
    return sorted(reasons, key=lambda pair: -len(pair[1]))

"""Writing what was measured into a page, in the place that the page keeps for it."""

import argparse
from collections.abc import Iterable
from pathlib import Path

END = "<!-- end of what was measured -->"


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the option that all measurements share."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--into", type=Path, help="page whose tables are replaced")
    return options


def check(into: Path | None, markers: Iterable[str]) -> None:
    """End unless a page keeps a place for all tables, before hours of measuring."""
    text = "" if into is None else into.read_text(encoding="utf-8")
    lacking = [each for each in markers if each not in text]
    if into is not None and lacking:
        raise SystemExit(f"{into} has no line {lacking[0]}")


def publish(text: str, marker: str, into: Path | None) -> None:
    """Print ``text``, and put it between ``marker`` and the next END of a page."""
    print(text)
    if into is None:
        return
    before, found, after = into.read_text(encoding="utf-8").partition(marker)
    if not found:
        raise SystemExit(f"{into} has no line {marker}")
    rest = after.partition(END)[2]
    page = f"{before}{marker}\n\n{text}\n\n{END}{rest}"
    into.write_text(page, encoding="utf-8")

"""Show progress on a terminal, as JSON lines, or not at all."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn

from twofold.app.cli.console import errors, say, tell
from twofold.progress import Event

_EVERY = 0.5
"""Minimum time in seconds between two JSON lines while files are read."""


class Silent:
    """Show no steps, and the path of the report at the end."""

    def __call__(self, event: Event) -> None:
        """Ignore an event."""

    def end(self, **facts: Any) -> None:
        """Print the path of the report."""
        tell(str(facts["report"]))


class Lines(Silent):
    """Show no steps, and a few lines at the end."""

    def end(self, **facts: Any) -> None:
        """Print a summary of the results."""
        shape = " x ".join(map(str, facts["shape"]))
        tell(f"{_counted(facts['images'], 'sample')} of {shape}")
        if "features" in facts:
            numbers = " x ".join(map(str, facts["features"]))
            whose = f"of {facts['network']}, " if "network" in facts else ""
            tell(f"compared by their features, {whose}{numbers} of each")
        if facts["skipped"]:
            tell(f"{_counted(facts['skipped'], 'file')} skipped; skipped.csv says why")
        if "missing" in facts:
            count = _counted(facts["missing"], "sample")
            filled = "completed.npy has them filled in"
            more = filled if facts["missing"] else "no entry has the value of --missing"
            tell(f"{count} with missing entries; {more}")
        if "aligned" in facts:
            before, after = (facts["aligned"][name] for name in ("before", "after"))
            tell(f"aligned: correlation with their mean {before:.2f} to {after:.2f}")
        if "chosen" in facts:
            _print_choice(facts)
        if "neighbors_found" in facts:
            found = f"{facts['neighbors_found']:.1%}"
            tell(f"neighbours are approximate: {found} of the nearest are found")
        if "outliers" in facts:
            tell(f"{_counted(facts['outliers'], 'sample')} of no cluster (-1)")
        if "structure" in facts:
            _print_structure(facts)
        clusters = _counted(facts["clusters"], "cluster")
        tell(f"{clusters} after {_counted(facts['iterations'], 'iteration')}")
        tell(f"Report: {facts['report']}")


def _print_structure(facts: dict[str, Any]) -> None:
    """Print how much speaks for clusters, with a warning if it is nothing."""
    tell(f"structure: {facts['structure']:.2f} (noise has about 0)")
    if not facts["found"]:
        hint = facts.get("hint")
        more = f"; for ordinary photos try {hint}" if hint else ""
        say(
            "Warning",
            "the samples do not look as if they had any clusters: do not trust these"
            f"{more}",
        )


def _print_choice(facts: dict[str, Any]) -> None:
    """Print the choices of a search, with warnings if they are unsure."""
    if "cluster_numbers" in facts:
        told = facts["cluster_numbers"]
        # Where there is nothing to be found, that is said instead.
        unsure = told["unsure"] and facts.get("found", True)
        _print_number(**(told | {"unsure": unsure}))
    if any(each is not None for each in facts.get("compared", {}).values()):
        _print_representation(**facts["compared"])
    chosen = facts["chosen"]
    if chosen["score"] is None:
        tell("chosen: the defaults; the graphs are in more pieces than clusters")
    else:
        directions = _counted(chosen["n_directions"], "direction")
        own = "features" in facts and "network" not in facts
        channels = "" if own else f"channels {chosen['channels']}, "
        tell(
            f"chosen: {channels}graph {chosen['graph']}, "
            f"{directions}, energy weight {chosen['energy_weight']:g}; score "
            f"{chosen['score']:.2f}"
        )
    if facts["out_of_time"]:
        tell("--max-time was up before all settings were tried")


def _print_representation(images: float | None, network: float | None) -> None:
    """Print how much the graphs tell of clusters of images and of features."""
    shown = ("none" if each is None else f"{each:.2f}" for each in (images, network))
    line = "tried: images, edge information {}, and features of a network, {}"
    tell(line.format(*shown))


def _print_number(
    chosen: int,
    numbers: list[int],
    likely: tuple[int, int],
    at_end: bool,
    unsure: bool,
    **_: Any,
) -> None:
    """Print the chosen number of clusters."""
    low, high = likely
    span = f"{low}" if low == high else f"{low} to {high}"
    more = " or more" if low < high == numbers[-1] else ""
    tell(f"chosen: {_counted(chosen, 'cluster')} (likely {span}{more})")
    if unsure:
        say(
            "Warning",
            "the data do not say clearly how many clusters there are; the report shows "
            "how all numbers do, and -k takes the one that you name",
        )
    if at_end:
        say("Warning", f"there may be more: no number above {chosen} was tried")


def _counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural if needed."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class JsonLines(Silent):
    """Print each step and the results as JSON objects, one per line."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, event: Event) -> None:
        """Print a step; steps of reading files are thinned out."""
        now = time.monotonic()
        steps = event.stage in ("reading", "features")
        frequent = steps and 0 < event.done < event.total
        if frequent and now - self.last < _EVERY:
            return
        self.last = now
        self._write(event.stage, done=event.done, total=event.total, **event.facts)

    def end(self, **facts: Any) -> None:
        """Print the results."""
        self._write("done", **facts)

    def _write(self, event: str, **facts: Any) -> None:
        print(json.dumps({"event": event, **facts}), flush=True)


class Bars(Lines):
    """Show a bar on stderr for each stage, with the remaining time."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.stage = ""
        self.begin = 0.0
        self.task = progress.add_task("", total=None, text="")

    def end(self, **facts: Any) -> None:
        """Remove the bar and print a summary of the results."""
        self.progress.stop()
        super().end(**facts)

    def __call__(self, event: Event) -> None:
        """Move the bar, or begin the next bar."""
        now = time.monotonic()
        if event.stage != self.stage:
            self.stage, self.begin = event.stage, now
        # Assume that the remaining steps take as long as the steps before them.
        left = (now - self.begin) * (event.total - event.done) / max(event.done, 1)
        # Draw at once unless steps are frequent, so that short stages are visible.
        refresh = event.stage != "reading" or event.done in (0, event.total)
        self.progress.update(
            self.task,
            description=event.stage.capitalize(),
            completed=event.done,
            total=event.total or None,  # 0: not known yet
            text=_text(event, left if event.done else None),
            refresh=refresh,
        )


def _text(event: Event, left: float | None) -> str:
    """Return the text beside a bar; ``left`` is the remaining time in seconds."""
    if event.stage == "writing":
        return str(event.facts.get("file", ""))
    if event.stage in ("reading", "features"):
        about = f"{event.done:,} of {event.total:,} images"
        return about if left is None else f"{about}, {left:.0f} s left"
    if event.stage == "searching":
        about = _counted(event.done, "candidate")
        return f"{about}, at most {left:.0f} s left" if left else about
    if left is None:
        return "choosing a start"
    objective = event.facts["objective"]
    return (
        f"iteration {event.done}, objective {objective:.5g}, at most {left:.0f} s left"
    )


@contextmanager
def display(*, quiet: bool, as_json: bool) -> Iterator[Silent]:
    """Yield an object that shows the steps of a command; bars need a terminal."""
    if as_json or quiet or not errors.is_terminal:
        yield JsonLines() if as_json else Silent() if quiet else Lines()
        return
    columns = (
        TextColumn("{task.description:9}"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=errors, transient=True) as progress:
        yield Bars(progress)

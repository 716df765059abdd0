"""Progress on a terminal, as JSON lines, or not at all."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn

from twofold.cli._console import errors, tell

if TYPE_CHECKING:
    from twofold.workflow import Step

_EVERY = 0.5
"""Seconds between two JSON lines about files that are being read."""


class Silent:
    """Shows no steps, and at the end the path of the report."""

    def __call__(self, step: "Step") -> None:
        """Take a step."""

    def end(self, **facts: Any) -> None:
        """Take what came out."""
        tell(str(facts["report"]))


class Lines(Silent):
    """Shows no steps, and at the end a few lines."""

    def end(self, **facts: Any) -> None:
        """Say what came out."""
        shape = " x ".join(map(str, facts["shape"]))
        tell(f"{_counted(facts['images'], 'sample')} of {shape}")
        if facts["skipped"]:
            tell(f"{_counted(facts['skipped'], 'file')} skipped; skipped.csv says why")
        if "missing" in facts:
            count = _counted(facts["missing"], "sample")
            filled = "completed.npy has them filled in"
            more = filled if facts["missing"] else "no entry has the value of --missing"
            tell(f"{count} with missing entries; {more}")
        clusters = _counted(facts["clusters"], "cluster")
        tell(f"{clusters} after {_counted(facts['iterations'], 'iteration')}")
        tell(f"Report: {facts['report']}")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class JsonLines(Silent):
    """Shows each step, and the end, as an object on a line of stdout."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, step: "Step") -> None:
        """Write a step, leaving out most of many files."""
        now = time.monotonic()
        often = step.stage == "reading" and 0 < step.done < step.total
        if often and now - self.last < _EVERY:
            return
        self.last = now
        self._write(step.stage, done=step.done, total=step.total, **step.facts)

    def end(self, **facts: Any) -> None:
        """Write what came out."""
        self._write("done", **facts)

    def _write(self, event: str, **facts: Any) -> None:
        print(json.dumps({"event": event, **facts}), flush=True)


class Bars(Lines):
    """A bar on stderr for each stage, with the time that is left of it."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.stage = ""
        self.begin = 0.0
        self.task = progress.add_task("", total=None, text="")

    def end(self, **facts: Any) -> None:
        """Take the bar away, then say what came out."""
        self.progress.stop()
        super().end(**facts)

    def __call__(self, step: "Step") -> None:
        """Move the bar, or begin with the next one."""
        now = time.monotonic()
        if step.stage != self.stage:
            self.stage, self.begin = step.stage, now
        left = (now - self.begin) * (step.total - step.done) / max(step.done, 1)
        few = step.stage != "reading" or step.done in (0, step.total)
        self.progress.update(
            self.task,
            description=step.stage.capitalize(),
            completed=step.done,
            total=step.total,
            text=_text(step, left if step.done else None),
            refresh=few,  # short stages are seen too
        )


def _text(step: "Step", left: float | None) -> str:
    if step.stage == "writing":
        return str(step.facts.get("file", ""))
    if step.stage == "reading":
        about = f"{step.done:,} of {step.total:,} files"
        return about if left is None else f"{about}, {left:.0f} s left"
    if left is None:
        return "choosing a start"
    objective = step.facts["objective"]
    return (
        f"iteration {step.done}, objective {objective:.5g}, at most {left:.0f} s left"
    )


@contextmanager
def display(*, quiet: bool, as_json: bool) -> Iterator[Silent]:
    """What shows the steps of a command, bars on a terminal alone."""
    if as_json or quiet or not errors.is_terminal:
        yield JsonLines() if as_json else Silent() if quiet else Lines()
        return
    columns = (
        TextColumn("{task.description:8}"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=errors, transient=True) as progress:
        yield Bars(progress)

"""``twofold reproduce``: the paper's protocol, tables and figures."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from twofold.app.cli.console import one_line_errors, output, say, tell
from twofold.progress import Event, listening

if TYPE_CHECKING:
    from twofold import paper

app = typer.Typer(
    invoke_without_command=True, pretty_exceptions_enable=False, rich_markup_mode=None
)

_LINE_EVERY = 30.0
"""Seconds between two lines of progress if stdout is not a terminal."""


class Best(StrEnum):
    """Choice of the best parameters of a grid."""

    combination = "combination"
    subset = "subset"


def _split(values: list[str]) -> tuple[str, ...]:
    """Return the values of a repeated or comma-separated option, without duplicates."""
    parts = (part.strip() for value in values for part in value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _counts(values: list[str]) -> tuple[int, ...]:
    """Read the numbers of classes."""
    try:
        counts = tuple(map(int, _split(values)))
    except ValueError:
        counts = (0,)
    if counts and min(counts) < 2:
        raise typer.BadParameter(
            f"expected numbers from 2 on, such as 5,10, got {','.join(values)}",
            param_hint="--clusters",
        )
    return counts


def _part(text: str) -> tuple[int, int]:
    """Read '1/4' as (1, 4)."""
    part, _, parts = text.partition("/")
    if part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts):
        return int(part), int(parts)
    raise typer.BadParameter(
        f"expected i/n with i from 1 to n, such as 1/4, got {text}",
        param_hint="--shard",
    )


Quick = Annotated[
    bool,
    typer.Option("--quick", help="Half a minute: small sets, 2 subsets, coarse grids."),
]
Data = Annotated[
    list[str],
    typer.Option(
        metavar="NAMES",
        help="Data sets, by name or import path module:object, with commas or "
        "repeated. Default: those of the paper's that are here.",
    ),
]
Methods = Annotated[
    list[str],
    typer.Option(
        metavar="NAMES",
        help="Methods, likewise. Default: the paper's ten and, where pixels are "
        "missing, three that handle missing entries.",
    ),
]
Clusters = Annotated[
    list[str],
    typer.Option(
        metavar="N,N,...", help="Numbers of classes, N. Default: the rows of the paper."
    ),
]
Subsets = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Random subsets for each N. Default: 10, 2 if quick."
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        max=2**31 - 1,
        help="Of subsets, removed entries and starts.",
    ),
]
MaxIter = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Limit of the iterative methods.")
]
BestOf = Annotated[
    Best, typer.Option(help="The best of a grid: on average, or of each subset.")
]
Out = Annotated[
    Path, typer.Option(metavar="DIR", help="Folder for tables, figures and the page.")
]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="FILE", help="Results. Default: results.sqlite in --out."
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        metavar="N", help="Processes of one thread each; -1: one for each core."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler to run on."),
]
Shard = Annotated[
    str, typer.Option(metavar="I/N", help="Run part i of n of the jobs only: i/n.")
]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Where TS-NMF is fitted, such as cuda."),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Run fits that failed again.")
]
TablesOnly = Annotated[
    bool, typer.Option("--tables-only", help="Run nothing; write what there is.")
]


@app.callback()
@one_line_errors
def run(
    context: typer.Context,
    quick: Quick = False,
    data: Data = [],  # noqa: B006
    method: Methods = [],  # noqa: B006
    clusters: Clusters = [],  # noqa: B006
    subsets: Subsets = None,
    seed: Seed = 0,
    max_iter: MaxIter = None,
    best: BestOf = Best.combination,
    out: Out = Path("reproduction"),
    store: StoreFile = None,
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
    shard: Shard = "1/1",
    device: Device = None,
    retry_failed: RetryFailed = False,
    tables_only: TablesOnly = False,
) -> None:
    """Run the paper's experiments.

    Its tables and figures are written beside ours.

    Results go to a store as they come. Stopped at any point, the same command goes on
    from there; several processes may share a store.
    """
    if context.invoked_subcommand:
        return
    from twofold import paper
    from twofold.paper.methods import all_methods

    protocol = paper.Protocol(
        data=_split(data) or _data_at_hand(quick),
        methods=_split(method) or tuple(all_methods()),
        clusters=_counts(clusters),
        subsets=subsets or (2 if quick else 10),
        seed=seed,
        max_iter=max_iter,
        quick=quick,
    )
    part = _part(shard)
    if jobs == 0:
        raise typer.BadParameter("expected 1 or more, or -1", param_hint="--jobs")
    out.mkdir(parents=True, exist_ok=True)
    path = store or out / "results.sqlite"
    if tables_only and not path.is_file():
        raise ValueError(f"there is no store {path}; name it with --store")
    with paper.Store(path) as results:
        if not tables_only:
            with _progress_shown(path):
                paper.run(
                    protocol,
                    results,
                    n_jobs=jobs,
                    scheduler=scheduler,
                    shard=part,
                    device=device,
                    retry=retry_failed,
                )
        if part[1] > 1:  # a table needs the results of all parts
            text = f"Part {shard} is done; bring the parts together with merge into one"
            tell(f"{text}: {path}")
            return
        summary = paper.summarize(protocol, results.results(), best=best.value)
    files = paper.write_all(summary, out)
    _warn_of_failures(summary)
    _print_averages(summary.tables)
    tell(f"Tables and figures: {files[-1]}")


@app.command()
@one_line_errors
def merge(
    into: Annotated[
        Path, typer.Argument(metavar="INTO", help="The store that gets the results.")
    ],
    stores: Annotated[
        list[Path], typer.Argument(metavar="STORES", help="Stores to take them from.")
    ],
) -> None:
    """Bring the results of several stores into one."""
    from twofold import paper

    for path in stores:
        if not path.is_file():
            raise ValueError(f"there is no store {path}")
    with paper.Store(into) as target:
        for path in stores:
            with paper.Store(path) as source:
                added = target.merge(source)
            output.print(f"{path}: {added:,} new results", highlight=False)


def _data_at_hand(quick: bool) -> tuple[str, ...]:
    """Return the data sets of the paper that are here; print a note of the others."""
    from twofold import paper

    here, missing = paper.data_at_hand(quick)
    if missing:
        say(
            "Note",
            f"not here and left out: {', '.join(missing)}; name the folder that has "
            "them in the environment variable TWOFOLD_DATA",
        )
    return here


@contextmanager
def _progress_shown(store: Path) -> Iterator[None]:
    """Show a run as a bar on a terminal, else as a line from time to time."""
    text = TextColumn("{task.percentage:>3.0f}%"), TextColumn("{task.description}")
    columns = (SpinnerColumn(), BarColumn(), *text)
    last, planned = time.monotonic(), False
    with Progress(*columns, console=output, disable=not output.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def show(event: Event) -> None:
            nonlocal last, planned
            if event.stage != "running":  # the iterations of a fit in this process
                return
            progress: paper.RunStatus = event.facts["status"]
            if not planned:
                planned = True
                tell(_plan(progress, store))
            total, done, state = progress.jobs, progress.jobs_done, _state(progress)
            bar.update(task, total=total, completed=done, description=state)
            now = time.monotonic()
            if not output.is_terminal and now - last > _LINE_EVERY:
                last = now
                tell(state)

        try:
            with listening(show):
                yield
        except KeyboardInterrupt:
            say("Stopped", f"the results are in {store}; run it again to go on")
            raise


def _warn_of_failures(summary: "paper.Reproduction") -> None:
    """Print the number of failed fits, and the most frequent failure."""
    failures = summary.provenance.failures
    if failures:
        (data, method, reason), _ = max(failures.items(), key=lambda item: item[1])
        say(
            "Warning",
            f"{sum(failures.values())} fits failed, most of them {method} on {data}: "
            f"{reason}; --retry-failed runs them again",
        )


def _plan(progress: "paper.RunStatus", store: Path) -> str:
    """Return how many fits there are, and how many are in the store."""
    text = f"{progress.fits:,} fits"
    if progress.found:
        text += f", of which {store} has {progress.found:,}"
    if progress.jobs:
        text += f"; {progress.jobs:,} jobs to run, about {_span(progress.remaining)}"
    return text


def _state(progress: "paper.RunStatus") -> str:
    """Return the number of finished jobs, the rate, and the remaining time."""
    rate = progress.fits_done / max(progress.elapsed, 1e-9)
    text = f"{progress.jobs_done:,} of {progress.jobs:,} jobs, {rate:.1f} fits/s"
    if progress.failed:
        text += f", {progress.failed} failed"
    if progress.jobs_done < progress.jobs:
        text += f", about {_span(progress.remaining)} left"
    return text


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_averages(tables: "list[paper.Table]") -> None:
    """Print the averages of the last method of each table beside those of the paper.

    By default the last method is TS-NMF. If it handles missing entries, the averages of
    the method without this come first.
    """
    from twofold import paper

    shown = Table()
    for column in ("data", "method", "measure", "ours", "paper"):
        number = column in ("ours", "paper")
        shown.add_column(column, justify="right" if number else "left")
    for table in tables:
        last = paper.find_method(table.methods[-1])
        for method in table.methods:
            title = paper.find_method(method).title
            if title not in (last.title, last.paper_title):
                continue
            pair = table.average_pair(method)
            means = pair.ours.mean, pair.paper.mean
            cells = ["-" if mean is None else f"{mean:.1f}" for mean in means]
            shown.add_row(table.title, title, table.metric, *cells)
    output.print(shown)

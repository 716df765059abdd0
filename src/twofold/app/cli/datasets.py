"""``twofold datasets``."""

from twofold.app.cli.console import one_line_errors, tell


@one_line_errors
def datasets() -> None:
    """List the data sets that are known and where they are.

    Files are looked for in the folder named by the environment variable TWOFOLD_DATA,
    then in the cache. Of those that are not here it says how to get them.
    """
    from twofold.paper.datasets import overview

    tell(f"{'name':8} {'images':>7} {'classes':>8}  {'what it is':36} where it is")
    for known in overview():
        where = known.way if known.path is None else str(known.path)
        counts = f"{known.n_samples:7,} {known.n_classes:8}"
        tell(f"{known.name:8} {counts}  {known.title:36} {where}")

"""How many threads the numerics of a command get."""

from threadpoolctl import threadpool_limits

FEWEST_SAMPLES = 50_000
"""Minimum number of samples for which more than one thread is used."""


def suitable_threads(n_samples: int) -> threadpool_limits:
    """Return a context in which BLAS and OpenMP have threads suited to the samples.

    The arrays of few samples are small: threads would wait for each other for longer
    than they compute, and take the cores from other programs. One thread is faster. A
    network must run outside, since it needs all of them.
    """
    return threadpool_limits(1 if n_samples < FEWEST_SAMPLES else None)

"""How many threads the numerics of a fit get."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from array_api_compat import is_numpy_array
from threadpoolctl import threadpool_limits

MOST_ENTRIES = 2**24
"""Number of entries of the samples up to which one thread is used."""


def suitable_threads(samples: Any) -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP have threads suited to samples.

    The arrays of a fit to few samples are small: threads would wait for each other for
    longer than they compute, most of all where other programs run. One thread is
    faster. Tensors keep the threads of PyTorch.
    """
    if not is_numpy_array(samples) or samples.size > MOST_ENTRIES:
        return nullcontext()
    return threadpool_limits(1)

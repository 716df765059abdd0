"""PyTorch devices: moving arrays to a device, and batches that fit its memory."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from twofold.core.arrays import Array, to_numpy

Result = TypeVar("Result")


class DeviceError(ValueError):
    """A device cannot be used; the message says why."""


def on_device(array: Array, device: str) -> Array:
    """Copy an array to a PyTorch tensor on a device, such as "cuda"."""
    try:
        import torch
    except ImportError:
        raise DeviceError(
            f"device={device!r} needs PyTorch: pip install 'twofold[torch]'"
        ) from None
    try:
        return torch.as_tensor(array, device=device)
    except Exception as failure:  # drivers raise exceptions of many types
        if _is_out_of_memory(failure):
            raise MemoryError(_too_small(device)) from None
        raise DeviceError(_unusable(device, failure)) from None


def check_device(device: str | None) -> None:
    """Raise a ``DeviceError`` if a small computation on the device fails."""
    if device is None:
        return
    try:
        # Tensors of the device "meta" have no values: only reading them back fails.
        to_numpy(on_device(np.ones(1), device) + 1)
    except (RuntimeError, NotImplementedError) as failure:
        raise DeviceError(_unusable(device, failure)) from None


def within_memory(
    solve: Callable[[np.ndarray], list[Result]], n_batch: int
) -> list[Result]:
    """Call ``solve`` on batches of 0, ..., n_batch - 1 that fit in device memory.

    The first call has all indices. When the device runs out of memory, the call is
    repeated with half as many indices, down to one.
    """
    results: list[Result] = []
    size = n_batch
    while len(results) < n_batch:
        part = np.arange(len(results), min(len(results) + size, n_batch))
        solved = _solve_or_none(solve, part)
        if solved is None:
            size = (len(part) + 1) // 2
        else:
            results += solved
    return results


def _solve_or_none(
    solve: Callable[[np.ndarray], list[Result]], part: np.ndarray
) -> list[Result] | None:
    """Call ``solve``; return None if a smaller part may fit in memory."""
    try:
        return solve(part)
    except Exception as failure:
        if not _is_out_of_memory(failure):
            raise
        if len(part) == 1:
            raise MemoryError(_too_small("the device")) from None
    # After the except block, because the exception refers to the failed tensors.
    _release_memory()
    return None


def _is_out_of_memory(failure: Exception) -> bool:
    """Return whether a failure is out of memory, by its class or its message."""
    message = str(failure).lower()
    # PyTorch has a class for it, but the libraries that it calls only have messages.
    return (
        type(failure).__name__ == "OutOfMemoryError"
        or "out of memory" in message
        or "alloc_failed" in message
    )


def _release_memory() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _unusable(device: str, failure: Exception) -> str:
    reason = str(failure).partition("\n")[0]
    return (
        f"device={device!r} cannot be used ({reason}); leave it out to fit on the CPU"
    )


def _too_small(device: str) -> str:
    return (
        f"{device} has too little memory for a single run; give X as float32, fewer "
        "samples, or leave the device out to fit on the CPU"
    )

"""Other devices than the CPU: getting there, and staying within their memory."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from twofold.core.arrays import Array, to_numpy

Result = TypeVar("Result")


class DeviceError(ValueError):
    """A device that cannot be used, and why."""


def on_device(array: Array, device: str) -> Array:
    """A PyTorch tensor of the same numbers on a device, such as "cuda"."""
    try:
        import torch
    except ImportError:
        raise DeviceError(
            f"device={device!r} needs PyTorch: pip install 'twofold[torch]'"
        ) from None
    try:
        return torch.as_tensor(array, device=device)
    except Exception as failure:  # whatever a driver says
        if _is_out_of_memory(failure):
            raise MemoryError(_too_small(device)) from None
        raise DeviceError(_unusable(device, failure)) from None


def check_device(device: str | None) -> None:
    """Refuse a device on which no fit would succeed."""
    if device is None:
        return
    try:
        to_numpy(on_device(np.ones(1), device) + 1)
    except (RuntimeError, NotImplementedError) as failure:
        raise DeviceError(_unusable(device, failure)) from None


def within_memory(
    solve: Callable[[np.ndarray], list[Result]], n_runs: int
) -> list[Result]:
    """The results of ``solve`` for runs 0, 1, ..., given as many numbers as fit.

    All are tried at once. When a device runs out of memory, what was tried is tried
    again with half as many runs at a time, down to one.
    """
    found: list[Result] = []
    size = n_runs
    while len(found) < n_runs:
        part = np.arange(len(found), min(len(found) + size, n_runs))
        results = _unless_full(solve, part)
        if results is None:
            size = (len(part) + 1) // 2
        else:
            found += results
    return found


def _unless_full(
    solve: Callable[[np.ndarray], list[Result]], part: np.ndarray
) -> list[Result] | None:
    """The results, or None where the device has no memory for more than one run."""
    try:
        return solve(part)
    except Exception as failure:
        if not _is_out_of_memory(failure):
            raise
        if len(part) == 1:
            raise MemoryError(_too_small("the device")) from None
    # Only now is the memory of what failed given up.
    _give_back_memory()
    return None


def _is_out_of_memory(failure: Exception) -> bool:
    """PyTorch has a class for it; the libraries that it calls only have words."""
    words = str(failure).lower()
    return (
        type(failure).__name__ == "OutOfMemoryError"
        or "out of memory" in words
        or "alloc_failed" in words
    )


def _give_back_memory() -> None:
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

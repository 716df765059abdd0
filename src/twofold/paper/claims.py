"""Locks that divide the jobs among processes that share a store."""

import hashlib
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows two processes may run the same job
    fcntl = None  # type: ignore[assignment]

from twofold.paper.protocol import Job


class Claims:
    """Jobs claimed by this process, as locked bytes of a file beside the store.

    The operating system releases a lock when its process ends, even if the process is
    killed. A claim therefore never outlives its process.
    """

    def __init__(self, store: Path) -> None:
        self._file: Any = None
        if fcntl is not None:
            # The bytes are never written: a lock may lie beyond the end of its file.
            self._file = store.with_name(f"{store.name}.claims").open("wb")

    def take(self, job: Job) -> bool:
        """Claim a job. Return False if another process has claimed it."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte_offset(job))
        except (BlockingIOError, PermissionError):  # POSIX allows either error
            return False
        return True

    def give_back(self, job: Job) -> None:
        """Release the claim of a job."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte_offset(job))

    def close(self) -> None:
        """Release all claims."""
        if self._file is not None:
            self._file.close()


def _byte_offset(job: Job) -> int:
    """Return the offset of the byte that stands for a job.

    Two jobs collide with a probability of about 10^-18.
    """
    digest = hashlib.sha256(job.keys[0].encode()).digest()
    return int.from_bytes(digest[:8]) >> 3  # offsets are signed 64-bit integers

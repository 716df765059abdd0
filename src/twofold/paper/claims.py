"""Which process runs which job, where several share a store."""

import hashlib
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows: processes may then do the same work
    fcntl = None  # type: ignore[assignment]

from twofold.paper.protocol import Job


class Claims:
    """Jobs claimed by this process, as locked bytes of a file beside the store.

    The operating system gives a lock back when its process ends, however it ends, so
    that no claim outlives a kill.

    Parameters
    ----------
    store : Path
        The file of locks is named after it.
    """

    def __init__(self, store: Path) -> None:
        self._file: Any = None
        if fcntl is not None:
            self._file = store.with_name(f"{store.name}.claims").open("wb")

    def take(self, job: Job) -> bool:
        """Claim a job; False if another process has it."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(job))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def give_back(self, job: Job) -> None:
        """Let others have a job."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(job))

    def close(self) -> None:
        """Give all jobs back."""
        if self._file is not None:
            self._file.close()


def _place(job: Job) -> int:
    """A byte of its own for every job, but for a chance of one in 10^18."""
    digest = hashlib.sha256(job.keys[0].encode()).digest()
    return int.from_bytes(digest[:8]) >> 3

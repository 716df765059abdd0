"""What is raised where a network cannot be used."""


def reason_of(error: Exception) -> str:
    """Return the first line of what an error of another package says."""
    return str(error).strip().partition("\n")[0]


class NetworkError(ValueError):
    """A network cannot be used here; the message says why, and what to install."""

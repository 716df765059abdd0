"""What is raised where a network cannot be used."""


class NetworkError(ValueError):
    """A network cannot be used here; the message says why, and what to install."""

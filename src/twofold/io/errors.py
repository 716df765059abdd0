"""What an error of another package says, for a message of our own."""


def reason_of(error: Exception) -> str:
    """Return the first line of what an error says, or the name of its type."""
    return str(error).strip().partition("\n")[0] or type(error).__name__

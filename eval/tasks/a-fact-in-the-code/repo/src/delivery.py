"""Delivers messages to receivers."""

MAX_RETRIES = 7
FIRST_PAUSE = 2.0  # seconds


def pause(attempt: int) -> float:
    """How long to wait before the given retry: twice as long each time, five minutes at most."""
    return min(FIRST_PAUSE * 2 ** (attempt - 1), 300.0)

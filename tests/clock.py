"""A clock that only moves when a test moves it."""


class Clock:
    """Seconds, as ``time.monotonic`` gives them."""

    def __init__(self, seconds: float = 100.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds

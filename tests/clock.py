"""A clock that moves only when a test moves it."""


class Clock:
    """A clock in seconds with the interface of ``time.monotonic``."""

    def __init__(self, seconds: float = 100.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds

"""A wall clock for tests of limits."""


class WallClock:
    """A clock that moves only when a test moves it. ``now`` is Unix seconds."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

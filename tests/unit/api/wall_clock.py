"""The wall clock, as limits read it."""


class WallClock:
    """Only moves when a test moves it. ``now`` is Unix seconds."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

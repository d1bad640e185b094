"""The wall clock, as limits read it."""


class WallClock:
    """Stands until a test moves it. ``now`` is Unix seconds."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

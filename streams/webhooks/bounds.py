"""How many deliveries wait in the table, and how many may. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PendingBounds:
    """How many deliveries may wait in a worker's table: in all, and for one endpoint.

    From half of ``most`` on, no endpoint gets more than its equal share of that half: whoever was
    away first leaves room for those who are away later.
    """

    most: int
    most_per_endpoint: int


class PendingCounts:
    """How many deliveries wait in the table, by endpoint."""

    def __init__(self, bounds: PendingBounds) -> None:
        """Begin with none."""
        self._bounds = bounds
        self._of_endpoint: dict[str, int] = {}
        self.total = 0
        """How many there are in all."""

    def change(self, endpoint: str, change: int) -> None:
        """Count one more, or one less."""
        before = self._of_endpoint.get(endpoint, 0)
        after = max(0, before + change)
        self.total += after - before
        if after:
            self._of_endpoint[endpoint] = after
        else:
            self._of_endpoint.pop(endpoint, None)

    def clear(self) -> None:
        """Begin anew."""
        self._of_endpoint.clear()
        self.total = 0

    @property
    def is_full(self) -> bool:
        """Whether no other one may be put into the table."""
        return self.total >= self._bounds.most

    def has_most(self, endpoint: str) -> bool:
        """Tell whether as many wait for this endpoint as may wait for any."""
        return self._of_endpoint.get(endpoint, 0) >= self._bounds.most_per_endpoint

    def is_full_for(self, endpoint: str) -> bool:
        """Tell whether no other one for this endpoint may be put into the table."""
        if self.has_most(endpoint) or self.is_full:
            return True
        count, half = self._of_endpoint.get(endpoint, 0), self._bounds.most // 2
        return self.total >= half and count >= half // max(1, len(self._of_endpoint))

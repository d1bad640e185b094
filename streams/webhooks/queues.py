"""Which delivery is tried next: a queue for each endpoint, in the order of capture. Pure.

Endpoints take turns. One that fails gets one attempt at a time, and all that fail share half of
what may be under way: so neither one dead receiver nor a thousand delay the others.
"""

import heapq
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class QueueRules:
    """How much may be under way: in all, and to one endpoint.

    An endpoint that keeps up gets one delivery at a time, in order. One that is behind gets another
    one at once for each ``backlog_per_attempt`` that wait, up to ``most_per_endpoint``.
    """

    most: int
    most_per_endpoint: int
    backlog_per_attempt: int = 8


@dataclass(order=True, frozen=True)
class Waiting:
    """A delivery that waits for its turn. ``sequence`` keeps the order of equal times."""

    occurred_ms: int
    sequence: int
    key: bytes = field(compare=False)


@dataclass
class _Endpoint:
    waiting: list[Waiting] = field(default_factory=list)
    under_way: int = 0
    is_failing: bool = False


class EndpointQueues:
    """The queues of all endpoints."""

    def __init__(self, rules: QueueRules) -> None:
        """Begin empty."""
        self._rules = rules
        self._endpoints: dict[str, _Endpoint] = {}
        # Endpoints that may have a turn, in the order of their turns.
        self._turns: dict[str, None] = {}
        self._sequence = 0
        self.under_way = 0
        """Attempts that have begun and not ended."""
        self._failing_under_way = 0

    def add(self, endpoint: str, occurred_ms: int, key: bytes) -> None:
        """Let a delivery wait for its turn."""
        self._sequence += 1
        state = self._endpoints.setdefault(endpoint, _Endpoint())
        heapq.heappush(state.waiting, Waiting(occurred_ms, self._sequence, key))
        self._turns[endpoint] = None

    def is_failing(self, endpoint: str) -> bool:
        """Tell whether the latest attempt at an endpoint failed."""
        state = self._endpoints.get(endpoint)
        return state is not None and state.is_failing

    def begin(self) -> tuple[str, bytes] | None:
        """Return endpoint and key of the delivery whose turn it is, None while there is none."""
        if self.under_way >= self._rules.most:
            return None
        for _ in range(len(self._turns)):
            endpoint = next(iter(self._turns))
            del self._turns[endpoint]
            state = self._endpoints[endpoint]
            if not state.waiting:
                self._forget_idle(endpoint)
            elif self._has_room(state):
                return endpoint, self._begin(endpoint, state)
            elif state.under_way == 0:
                # Only others that fail are in its way: it keeps its turn.
                self._turns[endpoint] = None
        return None

    def end(self, endpoint: str, *, is_failing: bool) -> None:
        """Note that an attempt has ended, and whether the endpoint could not be served."""
        state = self._endpoints[endpoint]
        state.under_way -= 1
        self.under_way -= 1
        if state.is_failing:
            self._failing_under_way -= 1
        if is_failing != state.is_failing:
            self._failing_under_way += state.under_way if is_failing else -state.under_way
            state.is_failing = is_failing
        self._turns[endpoint] = None

    def clear(self) -> None:
        """Forget what waits; what is under way stays so."""
        for endpoint, state in self._endpoints.items():
            state.waiting.clear()
            self._turns[endpoint] = None

    def __len__(self) -> int:
        """Return how many wait."""
        return sum(len(state.waiting) for state in self._endpoints.values())

    def _begin(self, endpoint: str, state: _Endpoint) -> bytes:
        state.under_way += 1
        self.under_way += 1
        if state.is_failing:
            self._failing_under_way += 1
        key = heapq.heappop(state.waiting).key
        if state.waiting and state.under_way < self._cap(state):
            self._turns[endpoint] = None
        return key

    def _has_room(self, state: _Endpoint) -> bool:
        if state.is_failing and self._failing_under_way >= max(1, self._rules.most // 2):
            return False
        return state.under_way < self._cap(state)

    def _cap(self, state: _Endpoint) -> int:
        if state.is_failing:
            return 1
        behind = len(state.waiting) // self._rules.backlog_per_attempt
        return min(1 + behind, self._rules.most_per_endpoint)

    def _forget_idle(self, endpoint: str) -> None:
        state = self._endpoints[endpoint]
        if state.under_way == 0 and not state.is_failing:
            del self._endpoints[endpoint]

"""Orders attempts with a queue for each endpoint, sorted by capture time. No I/O.

Accounts take turns, as do an account's endpoints. An account with a hundred endpoints gets no more
turns than an account with a single endpoint. A failing endpoint gets one attempt at a time, and all
failing endpoints share half of the attempts in flight, so that they delay no others.
"""

import heapq
from dataclasses import dataclass, field
from uuid import UUID

from common.records.deliveries import Delivery


@dataclass(frozen=True, kw_only=True)
class QueueRules:
    """The limits of attempts in flight, in total and per endpoint.

    An endpoint that keeps up gets one delivery at a time, in order. An endpoint with a backlog gets
    one more delivery per ``backlog_per_attempt`` waiting deliveries, up to ``max_per_endpoint``.
    """

    max_attempts: int
    max_per_endpoint: int
    backlog_per_attempt: int = 8


@dataclass(order=True, frozen=True)
class QueuedDelivery:
    """A delivery that waits for its turn. ``sequence`` orders deliveries with the same time."""

    occurred_ms: int
    sequence: int
    key: bytes = field(compare=False)


@dataclass
class _EndpointQueue:
    owner_id: UUID
    waiting: list[QueuedDelivery] = field(default_factory=list)
    in_flight: int = 0
    is_failing: bool = False


class EndpointQueues:
    """The queues of all endpoints."""

    def __init__(self, rules: QueueRules) -> None:
        self._rules = rules
        self._endpoints: dict[str, _EndpointQueue] = {}
        # For each account, the endpoints that can have a turn. Both are in order of turns.
        self._turns: dict[UUID, dict[str, None]] = {}
        self._sequence = 0
        self.in_flight = 0
        """The number of attempts that have started but not ended."""
        self._failing_in_flight = 0

    def add(self, delivery: Delivery, key: bytes) -> None:
        """Queue a delivery."""
        self._sequence += 1
        endpoint = delivery.endpoint
        state = self._endpoints.setdefault(endpoint, _EndpointQueue(delivery.owner_id))
        heapq.heappush(state.waiting, QueuedDelivery(delivery.occurred_ms, self._sequence, key))
        self._schedule(endpoint, state)

    def is_failing(self, endpoint: str) -> bool:
        """Return whether the latest attempt to deliver to an endpoint failed."""
        state = self._endpoints.get(endpoint)
        return state is not None and state.is_failing

    def begin(self) -> tuple[str, bytes] | None:
        """Begin the next attempt. Return its endpoint and key, or None if no attempt can begin."""
        if self.in_flight >= self._rules.max_attempts:
            return None
        for _ in range(len(self._turns)):
            owner_id, endpoints = next(iter(self._turns.items()))
            turn = self._begin_of(endpoints)
            # The account moves after all others if it has more deliveries.
            del self._turns[owner_id]
            if endpoints:
                self._turns[owner_id] = endpoints
            if turn is not None:
                return turn
        return None

    def _begin_of(self, endpoints: dict[str, None]) -> tuple[str, bytes] | None:
        for _ in range(len(endpoints)):
            endpoint = next(iter(endpoints))
            del endpoints[endpoint]
            state = self._endpoints[endpoint]
            if not state.waiting:
                self._forget_idle(endpoint)
            elif self._may_begin(state):
                return endpoint, self._begin(endpoint, state, endpoints)
            elif state.in_flight == 0:
                # The endpoint retains its turn, because only other failing endpoints block it.
                endpoints[endpoint] = None
        return None

    def end(self, endpoint: str, *, is_failing: bool) -> None:
        """Record that an attempt has ended, and whether it failed."""
        state = self._endpoints[endpoint]
        state.in_flight -= 1
        self.in_flight -= 1
        if state.is_failing:
            self._failing_in_flight -= 1
        if is_failing != state.is_failing:
            self._failing_in_flight += state.in_flight if is_failing else -state.in_flight
            state.is_failing = is_failing
        self._schedule(endpoint, state)

    def clear(self) -> None:
        """Drop all waiting deliveries. Attempts in flight are not affected."""
        for endpoint, state in self._endpoints.items():
            state.waiting.clear()
            self._schedule(endpoint, state)

    def __len__(self) -> int:
        """Return the number of waiting deliveries."""
        return sum(len(state.waiting) for state in self._endpoints.values())

    def _schedule(self, endpoint: str, state: _EndpointQueue) -> None:
        self._turns.setdefault(state.owner_id, {})[endpoint] = None

    def _begin(self, endpoint: str, state: _EndpointQueue, endpoints: dict[str, None]) -> bytes:
        state.in_flight += 1
        self.in_flight += 1
        if state.is_failing:
            self._failing_in_flight += 1
        key = heapq.heappop(state.waiting).key
        if state.waiting and state.in_flight < self._max_attempts(state):
            endpoints[endpoint] = None
        return key

    def _may_begin(self, state: _EndpointQueue) -> bool:
        if state.is_failing and self._failing_in_flight >= max(1, self._rules.max_attempts // 2):
            return False
        return state.in_flight < self._max_attempts(state)

    def _max_attempts(self, state: _EndpointQueue) -> int:
        if state.is_failing:
            return 1
        backlog_attempts = len(state.waiting) // self._rules.backlog_per_attempt
        return min(1 + backlog_attempts, self._rules.max_per_endpoint)

    def _forget_idle(self, endpoint: str) -> None:
        state = self._endpoints[endpoint]
        if state.in_flight == 0 and not state.is_failing:
            del self._endpoints[endpoint]

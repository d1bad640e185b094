"""Tunes the time for which a broker may hold a fetch that finds no record.

Only one fetch per broker is open at a time. A partition that was paused or had buffered records
when the fetch was sent is not part of the fetch, and must wait until the fetch ends. Therefore an
incomplete fetch is held for only 0.1 s, and is only sent if the stage does not take the buffered
records at once. A fetch of all partitions ends with the first record of any partition, so it can be
held for 2 s. A fetch takes the consumer and the broker 2 ms of CPU time each, so the number of
fetches is most of the cost of a stage that gets few records.
"""

import time
from collections.abc import Callable, Collection
from typing import Any, Final

from faust.types import TP

SHORT_MS: Final = 100
LONG_MS: Final = 2_000
# Other requests on the connection wait for a held fetch, and a rebalance sends many requests.
_STABLE_SECONDS: Final = 5.0
_LOOP_SECONDS: Final = 1.0
_TAKE_SECONDS: Final = 0.02


class FetchWaitTuner:
    """Sets the wait before each fetch of an aiokafka fetcher, in the consumer's thread."""

    def __init__(self, fetcher: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` is monotonic, in seconds."""
        self._fetcher = fetcher
        self._clock = clock
        self._find_actions = fetcher._get_actions_per_node
        self._wanted: frozenset[TP] = frozenset()
        self._assignment: Any = None
        self._changed_at = self._taken_at = clock()
        fetcher._get_actions_per_node = self._get_actions_per_node
        # aiokafka's loop also ends with each fetch, seek and resumed partition.
        fetcher._fetcher_timeout = _LOOP_SECONDS

    def set_wanted(self, partitions: Collection[TP]) -> None:
        """Set the partitions to consume. Records of other partitions may stay buffered."""
        wanted = frozenset(partitions)
        if wanted != self._wanted:
            # A partition that is wanted again soon must not wait for a fetch without it.
            self._wanted, self._changed_at = wanted, self._clock()

    def _get_actions_per_node(self, assignment: Any) -> Any:
        now = self._clock()
        if assignment is not self._assignment:
            self._assignment, self._changed_at = assignment, now
        if self._wanted.isdisjoint(self._fetcher._records):
            self._taken_at = now
        elif now - self._taken_at < _TAKE_SECONDS:
            # aiokafka calls this again when the records are taken, or after this time.
            return [], {}, _TAKE_SECONDS, False, []
        self._fetcher._fetch_max_wait_ms = LONG_MS if self._can_wait_long(assignment) else SHORT_MS
        return self._find_actions(assignment)

    def _can_wait_long(self, assignment: Any) -> bool:
        is_stable = self._clock() - self._changed_at >= _STABLE_SECONDS
        return is_stable and all(self._is_fetched(assignment, tp) for tp in self._wanted)

    def _is_fetched(self, assignment: Any, tp: TP) -> bool:
        if tp not in assignment.tps or tp in self._fetcher._records:
            return False
        state = assignment.state_value(tp)
        return bool(state.has_valid_position and not state.paused)

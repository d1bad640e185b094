"""Tunes the time for which a broker may hold a fetch that finds no record.

Only one fetch per broker is open at a time. A partition that was paused or had buffered records
when the fetch was sent is not part of the fetch, and must wait until the fetch ends. Therefore an
incomplete fetch is held for only 0.1 s. A fetch of all partitions ends with the first record of any
partition, so it can be held longer: after a while without records, the fetch is held for 1 s, and
an idle stage fetches once per second instead of ten times.
"""

import time
from collections.abc import Callable, Collection
from typing import Any, Final

from faust.types import TP

SHORT_MS: Final = 100
LONG_MS: Final = 1_000
# Other requests on the connection wait for a held fetch, and a rebalance sends many requests.
_IDLE_SECONDS: Final = 5.0


class FetchWaitTuner:
    """Sets the wait before each fetch of an aiokafka fetcher, in the consumer's thread."""

    def __init__(self, fetcher: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` is monotonic, in seconds."""
        self._fetcher = fetcher
        self._clock = clock
        self._find_actions = fetcher._get_actions_per_node
        self._wanted: frozenset[TP] = frozenset()
        self._busy_at = clock()
        fetcher._get_actions_per_node = self._get_actions_per_node

    def on_busy(self) -> None:
        """Record that records have arrived, or that partitions are being reassigned."""
        self._busy_at = self._clock()

    def set_wanted(self, partitions: Collection[TP]) -> None:
        """Set the partitions to consume. Records of other partitions may stay buffered."""
        self._wanted = frozenset(partitions)

    def _get_actions_per_node(self, assignment: Any) -> Any:
        self._fetcher._fetch_max_wait_ms = LONG_MS if self._can_wait_long(assignment) else SHORT_MS
        return self._find_actions(assignment)

    def _can_wait_long(self, assignment: Any) -> bool:
        is_idle = self._clock() - self._busy_at >= _IDLE_SECONDS
        return is_idle and all(self._is_fetched(assignment, tp) for tp in self._wanted)

    def _is_fetched(self, assignment: Any, tp: TP) -> bool:
        if tp not in assignment.tps or tp in self._fetcher._records:
            return False
        state = assignment.state_value(tp)
        return bool(state.has_valid_position and not state.paused)

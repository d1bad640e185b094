"""A broker may hold a fetch for long only if the fetch includes every partition."""

from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP

from streams.runtime.fetch_wait import LONG_MS, SHORT_MS, FetchWaitTuner
from tests.clock import Clock

ONE, TWO = TP("a", 0), TP("b", 0)


class Fetcher:
    """The part of aiokafka's fetcher that the fetch pace uses."""

    def __init__(self) -> None:
        self._records: dict[TP, object] = {}
        self._fetch_max_wait_ms = 0

    def _get_actions_per_node(self, _: Any) -> int:
        return self._fetch_max_wait_ms


class Assignment:
    """Assigned partitions, each with a position and not paused."""

    def __init__(self, *partitions: TP) -> None:
        self.tps = frozenset(partitions)
        self.states = {
            tp: SimpleNamespace(has_valid_position=True, paused=False) for tp in partitions
        }

    def state_value(self, tp: TP) -> Any:
        return self.states[tp]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fetcher() -> Fetcher:
    return Fetcher()


@pytest.fixture
def pace(fetcher: Fetcher, clock: Clock) -> FetchWaitTuner:
    """The fetch pace of a consumer that has received nothing for a minute."""
    pace = FetchWaitTuner(fetcher, clock)
    pace.set_wanted({ONE, TWO})
    clock.seconds += 60
    return pace


@pytest.mark.usefixtures("pace")
def test_a_fetch_of_all_partitions_is_held_for_long_where_nothing_comes(fetcher: Fetcher) -> None:
    assert fetcher._get_actions_per_node(Assignment(ONE, TWO)) == LONG_MS


def test_not_where_something_came_a_moment_ago(
    fetcher: Fetcher, pace: FetchWaitTuner, clock: Clock
) -> None:
    pace.on_busy()
    clock.seconds += 4

    assert fetcher._get_actions_per_node(Assignment(ONE, TWO)) == SHORT_MS


@pytest.mark.usefixtures("pace")
def test_not_where_records_of_a_partition_lie_in_the_buffer(fetcher: Fetcher) -> None:
    fetcher._records[TWO] = object()

    assert fetcher._get_actions_per_node(Assignment(ONE, TWO)) == SHORT_MS


@pytest.mark.usefixtures("pace")
@pytest.mark.parametrize("name", ["has_valid_position", "paused"])
def test_not_where_a_partition_is_not_to_be_fetched(fetcher: Fetcher, name: str) -> None:
    assignment = Assignment(ONE, TWO)
    setattr(assignment.states[TWO], name, name == "paused")

    assert fetcher._get_actions_per_node(assignment) == SHORT_MS


@pytest.mark.usefixtures("pace")
def test_not_where_a_partition_is_not_assigned(fetcher: Fetcher) -> None:
    assert fetcher._get_actions_per_node(Assignment(ONE)) == SHORT_MS


@pytest.mark.usefixtures("pace")
def test_unwanted_records_do_not_count(fetcher: Fetcher) -> None:
    fetcher._records[TP("changelog", 0)] = object()

    assert fetcher._get_actions_per_node(Assignment(ONE, TWO)) == LONG_MS

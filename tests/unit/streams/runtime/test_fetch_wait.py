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

    def _get_actions_per_node(self, _: Any) -> Any:
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
def assignment() -> Assignment:
    return Assignment(ONE, TWO)


@pytest.fixture
def pace(fetcher: Fetcher, assignment: Assignment, clock: Clock) -> FetchWaitTuner:
    """The fetch pace of a consumer that has had its partitions for a minute."""
    pace = FetchWaitTuner(fetcher, clock)
    pace.set_wanted({ONE, TWO})
    fetcher._get_actions_per_node(assignment)
    clock.seconds += 60
    return pace


@pytest.mark.usefixtures("pace")
def test_a_fetch_of_all_partitions_is_held_for_long(
    fetcher: Fetcher, assignment: Assignment
) -> None:
    assert fetcher._get_actions_per_node(assignment) == LONG_MS


@pytest.mark.usefixtures("pace")
def test_not_soon_after_a_rebalance(fetcher: Fetcher, clock: Clock) -> None:
    assignment = Assignment(ONE, TWO)

    assert fetcher._get_actions_per_node(assignment) == SHORT_MS
    clock.seconds += 6
    assert fetcher._get_actions_per_node(assignment) == LONG_MS


def test_not_soon_after_a_partition_was_left_out(
    fetcher: Fetcher, assignment: Assignment, pace: FetchWaitTuner, clock: Clock
) -> None:
    pace.set_wanted({ONE})

    assert fetcher._get_actions_per_node(assignment) == SHORT_MS
    pace.set_wanted({ONE})
    clock.seconds += 6
    assert fetcher._get_actions_per_node(assignment) == LONG_MS


@pytest.mark.usefixtures("pace")
def test_records_in_the_buffer_are_awaited_for_a_moment(
    fetcher: Fetcher, assignment: Assignment, clock: Clock
) -> None:
    fetcher._get_actions_per_node(assignment)
    fetcher._records[TWO] = object()

    requests, *_ = fetcher._get_actions_per_node(assignment)
    assert requests == []
    del fetcher._records[TWO]
    assert fetcher._get_actions_per_node(assignment) == LONG_MS
    fetcher._records[TWO] = object()
    clock.seconds += 0.02
    assert fetcher._get_actions_per_node(assignment) == SHORT_MS


@pytest.mark.usefixtures("pace")
@pytest.mark.parametrize("name", ["has_valid_position", "paused"])
def test_not_where_a_partition_is_not_to_be_fetched(
    fetcher: Fetcher, assignment: Assignment, name: str
) -> None:
    setattr(assignment.states[TWO], name, name == "paused")

    assert fetcher._get_actions_per_node(assignment) == SHORT_MS


@pytest.mark.usefixtures("pace")
def test_not_where_a_partition_is_not_assigned(fetcher: Fetcher, assignment: Assignment) -> None:
    assignment.tps = frozenset({ONE})

    assert fetcher._get_actions_per_node(assignment) == SHORT_MS


@pytest.mark.usefixtures("pace")
def test_unwanted_records_do_not_count(fetcher: Fetcher, assignment: Assignment) -> None:
    fetcher._records[TP("changelog", 0)] = object()

    assert fetcher._get_actions_per_node(assignment) == LONG_MS

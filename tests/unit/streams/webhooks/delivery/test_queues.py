"""The order of delivery attempts."""

from collections import Counter
from collections.abc import Iterator
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from common.records.deliveries import Delivery, recognition_delivery
from streams.webhooks.delivery.queues import EndpointQueues, QueueRules
from tests.records import recognition

GREEDY, FAIR, OTHER = (UUID(int=number) for number in (1, 2, 3))
RULES = QueueRules(max_attempts=1000, max_per_endpoint=4)


def _delivery(owner_id: UUID, endpoint: int) -> Delivery:
    found = structs.replace(recognition(endpoint), owner_id=owner_id)
    return recognition_delivery(found, UUID(int=(owner_id.int << 32) + endpoint), created_ms=1)


def _queue(queues: EndpointQueues, *deliveries: Delivery) -> None:
    for delivery in deliveries:
        queues.add(delivery, str(delivery.id).encode())


def _begun(queues: EndpointQueues) -> Iterator[str]:
    while (turn := queues.begin()) is not None:
        yield turn[0]


def test_an_account_of_a_hundred_endpoints_does_not_delay_one_of_a_single() -> None:
    queues = EndpointQueues(RULES)
    greedy = [_delivery(GREEDY, number) for number in range(100)]
    fair, other = _delivery(FAIR, 0), _delivery(OTHER, 0)
    _queue(queues, *greedy, fair, other)

    begun = list(_begun(queues))

    assert begun.index(fair.endpoint) <= 2
    assert begun.index(other.endpoint) <= 2
    assert Counter(begun) == {one.endpoint: 1 for one in (*greedy, fair, other)}


@given(st.lists(st.tuples(st.sampled_from([GREEDY, FAIR, OTHER]), st.integers(0, 3))))
def test_everything_has_its_turn_and_nothing_twice(asked: list[tuple[UUID, int]]) -> None:
    queues = EndpointQueues(RULES)
    deliveries = [_delivery(owner, endpoint) for owner, endpoint in asked]
    for number, delivery in enumerate(deliveries):
        queues.add(delivery, str(number).encode())
    keys: list[bytes] = []
    while (turn := queues.begin()) is not None:
        endpoint, key = turn
        keys.append(key)
        queues.end(endpoint, is_failing=False)

    assert sorted(keys) == sorted(str(number).encode() for number in range(len(asked)))
    assert (len(queues), queues.in_flight) == (0, 0)

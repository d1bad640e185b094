"""No delivery is forgotten, whatever fails, and one that is dead delays no other."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterator

import pytest

from contracts.deliveries import AttemptOutcome, Delivery, DeliveryAttempt
from contracts.errors import TransientError
from streams.common.app import Event
from streams.webhooks.dispatcher import Dispatcher, DispatchRules
from streams.webhooks.metrics import DeliveryMetrics
from streams.webhooks.pending import PendingDelivery, PendingTable, key_of
from streams.webhooks.queues import QueueRules
from streams.webhooks.schedule import SendKind, SendResult
from tests.unit.streams.common.fakes import FakeApp, event
from tests.unit.streams.webhooks.builders import delivery

ACCEPTED = SendResult(kind=SendKind.ACCEPTED, status=200)
FAILED = SendResult(kind=SendKind.FAILED, status=503, error="Answered 503.")
REFUSED = SendResult(kind=SendKind.REFUSED, status=404, error="Answered 404.")
PARTITION = 3


class FakeTable(PendingTable):
    """A table without Kafka that can be away."""

    def __init__(self) -> None:
        self.kept: dict[bytes, PendingDelivery] = {}
        self.is_away = False
        self.may_write = asyncio.Event()
        self.may_write.set()

    def get(self, key: bytes) -> PendingDelivery | None:
        return self.kept.get(key)

    async def put(self, pending: PendingDelivery) -> None:
        await self._write()
        self.kept[key_of(pending.delivery)] = pending

    async def remove(self, key: bytes, *, partition: int) -> None:
        await self._write()
        self.kept.pop(key, None)

    def keep_only(self, partitions: Collection[int]) -> Iterator[tuple[bytes, PendingDelivery]]:
        return iter([(k, p) for k, p in self.kept.items() if p.partition in partitions])

    async def _write(self) -> None:
        await asyncio.sleep(0)
        await self.may_write.wait()
        if self.is_away:
            raise TransientError("Kafka is away")


class Bench:
    """A dispatcher with all its neighbours."""

    def __init__(self) -> None:
        self.app = FakeApp()
        self.table = FakeTable()
        self.told: list[DeliveryAttempt] = []
        self.sent: list[Delivery] = []
        self.answers: defaultdict[str, SendResult] = defaultdict(lambda: ACCEPTED)
        self.hanging: set[str] = set()
        self.may_answer = asyncio.Event()
        self.are_attempts_away = False
        self.now_ms = 1_000_000
        self._offset = 0
        self.new()

    def new(self, **rules: object) -> None:
        """Begin anew, as a process that was started again."""
        given: dict[str, object] = {
            "queues": QueueRules(most=64, most_per_endpoint=4, backlog_per_attempt=8),
            "pauses_seconds": (5, 30),
        }
        self.dispatcher = Dispatcher(
            stage=self.app,
            table=self.table,
            attempts=self,
            send=self.send,
            rules=DispatchRules(**(given | rules)),  # type: ignore[arg-type]
            metrics=DeliveryMetrics(),
            now_ms=lambda: self.now_ms,
        )
        self.dispatcher.restore({PARTITION})
        self._running = asyncio.create_task(self.dispatcher.run())

    async def crash(self) -> None:
        """End without a word."""
        self._running.cancel()
        await self.dispatcher.stop()

    async def send(self, sent: Delivery, number: int) -> SendResult:
        """Be every receiver."""
        self.sent.append(sent)
        if sent.endpoint in self.hanging:
            await self.may_answer.wait()
        await asyncio.sleep(0)
        return self.answers[sent.endpoint]

    async def publish(self, attempt: DeliveryAttempt) -> None:
        """Be the attempts topic."""
        if self.are_attempts_away:
            raise TransientError("Kafka is away")
        self.told.append(attempt)

    async def offer(self, *deliveries: Delivery) -> list[Event]:
        """Bring deliveries as messages."""
        events = []
        for each in deliveries:
            self._offset += 1
            message = event(self._offset, partition=PARTITION)
            self.app.deliver(message)
            events.append(message)
            await self.dispatcher.offer(each, message)
        return events

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(5):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.005)

    def outcomes(self) -> Counter[AttemptOutcome]:
        """Count outcomes."""
        return Counter(attempt.outcome for attempt in self.told)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A dispatcher with all its neighbours."""
    opened = Bench()
    yield opened
    await opened.crash()


async def test_what_goes_well_is_told_then_released_and_never_kept(bench: Bench) -> None:
    await bench.offer(*(delivery(number) for number in range(30)))
    await bench.until(lambda: len(bench.app.released) == 30)

    assert bench.outcomes() == {AttemptOutcome.DELIVERED: 30}
    assert bench.table.kept == {}


async def test_one_endpoint_that_keeps_up_gets_its_deliveries_in_order(bench: Bench) -> None:
    wanted = [delivery(number) for number in range(8)]
    await bench.offer(*reversed(wanted))
    await bench.until(lambda: len(bench.app.released) == 8)

    # The one that came first was under way before the others were there.
    assert bench.sent == [wanted[-1], *wanted[:-1]]


async def test_a_failure_is_kept_then_released_then_tried_again(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.until(lambda: len(bench.app.released) == 1)
    assert bench.table.kept[key_of(one)].attempts == 1
    bench.now_ms += 3_900
    await asyncio.sleep(0.12)
    assert len(bench.sent) == 1

    bench.answers[one.endpoint] = ACCEPTED
    bench.now_ms += 3_000
    await bench.until(lambda: len(bench.told) == 2)
    await bench.until(lambda: bench.table.kept == {})
    assert [(a.number, a.outcome) for a in bench.told] == [
        (1, AttemptOutcome.RETRYING),
        (2, AttemptOutcome.DELIVERED),
    ]
    assert len({attempt.id for attempt in bench.told}) == 2


async def test_after_the_last_pause_it_is_dead(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    for number in (1, 2, 3):
        await bench.until(lambda: len(bench.told) == number)  # noqa: B023 - awaited at once
        bench.now_ms += 100_000

    assert bench.told[-1].outcome is AttemptOutcome.DEAD
    await bench.until(lambda: bench.table.kept == {})


async def test_what_will_never_go_better_is_dead_at_once(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = REFUSED
    await bench.offer(one)
    await bench.until(lambda: len(bench.app.released) == 1)

    assert bench.outcomes() == {AttemptOutcome.DEAD: 1}
    assert bench.table.kept == {}


async def test_a_crash_forgets_nothing_that_was_released(bench: Bench) -> None:
    wanted = [delivery(number, endpoint=number % 5) for number in range(40)]
    for one in wanted:
        bench.answers[one.endpoint] = FAILED
    await bench.offer(*wanted)
    await bench.until(lambda: len(bench.app.released) == 40)
    await bench.crash()
    bench.answers.clear()
    bench.now_ms += 100_000
    bench.new()
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 40)

    delivered = {a.delivery.id for a in bench.told if a.outcome is AttemptOutcome.DELIVERED}
    assert delivered == {one.id for one in wanted}
    await bench.until(lambda: bench.table.kept == {})


async def test_what_hangs_is_kept_before_its_message_is_released(bench: Bench) -> None:
    await bench.crash()
    bench.new(patience_seconds=0.1)
    wanted = [delivery(number) for number in range(12)]
    bench.hanging.add(wanted[0].endpoint)
    await bench.offer(*wanted)
    await asyncio.sleep(0.05)
    under_way = len(bench.sent)
    await bench.until(lambda: len(bench.app.released) == 12 - under_way)

    assert len(bench.table.kept) == 12 - under_way
    assert {one.id for one in wanted} == {
        *(pending.delivery.id for pending in bench.table.kept.values()),
        *(sent.id for sent in bench.sent),
    }


async def test_one_that_hangs_delays_no_other(bench: Bench) -> None:
    hanging = delivery(0, endpoint=0)
    bench.hanging.add(hanging.endpoint)
    await bench.offer(*(delivery(number, endpoint=0) for number in range(200)))
    others = [delivery(1000 + number, endpoint=1 + number % 99) for number in range(990)]
    await bench.offer(*others)
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 990)

    assert sum(sent.endpoint == hanging.endpoint for sent in bench.sent) <= 4


async def test_many_that_fail_leave_room_for_the_others(bench: Bench) -> None:
    dead = [delivery(number, endpoint=number) for number in range(100)]
    for one in dead:
        bench.answers[one.endpoint] = FAILED
    await bench.offer(*dead)
    await bench.until(lambda: len(bench.app.released) == 100)
    bench.hanging |= {one.endpoint for one in dead}
    bench.now_ms += 100_000
    await bench.until(lambda: len(bench.sent) == 100 + 32)
    await bench.offer(*(delivery(1000 + number, endpoint=1000) for number in range(50)))
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 50)


async def test_nothing_is_released_while_kafka_is_away(bench: Bench) -> None:
    ok, failing = delivery(1, endpoint=1), delivery(2, endpoint=2)
    bench.answers[failing.endpoint] = FAILED
    bench.table.is_away = bench.are_attempts_away = True
    await bench.offer(ok, failing)
    await bench.until(lambda: len(bench.sent) == 2)
    await asyncio.sleep(0.05)
    assert bench.app.released == []

    bench.table.is_away = bench.are_attempts_away = False
    await bench.until(lambda: len(bench.app.released) == 2)
    assert len(bench.sent) == 2
    assert set(bench.table.kept) == {key_of(failing)}


async def test_a_message_that_comes_again_is_not_sent_again(bench: Bench) -> None:
    done, pending = delivery(1, endpoint=1), delivery(2, endpoint=2)
    bench.answers[pending.endpoint] = FAILED
    await bench.offer(done, pending)
    await bench.until(lambda: len(bench.app.released) == 2)
    await bench.offer(done, pending)
    await bench.until(lambda: len(bench.app.released) == 4)

    assert len(bench.sent) == 2


async def test_partitions_that_moved_are_left_to_their_new_owner(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.until(lambda: len(bench.app.released) == 1)
    bench.dispatcher.restore({PARTITION + 1})
    bench.now_ms += 100_000
    await asyncio.sleep(0.12)
    assert len(bench.sent) == 1

    bench.answers.clear()
    bench.dispatcher.restore({PARTITION})
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 1)


async def test_too_many_for_one_endpoint_are_given_up_and_told(bench: Bench) -> None:
    await bench.crash()
    bench.new(most_pending_per_endpoint=10)
    wanted = [delivery(number) for number in range(15)]
    bench.answers[wanted[0].endpoint] = FAILED
    for one in wanted:
        await bench.offer(one)
        await bench.until(lambda: len(bench.app.released) == bench._offset)

    assert len(bench.table.kept) == 10
    assert bench.outcomes()[AttemptOutcome.DEAD] == 5


async def _waiting(bench: Bench) -> Delivery:
    """Bring a delivery that waits behind one that hangs."""
    await bench.crash()
    bench.new(patience_seconds=0.1)
    first, second = delivery(1), delivery(2)
    bench.hanging.add(first.endpoint)
    await bench.offer(first, second)
    return second


@pytest.mark.parametrize("lands_first", [False, True])
async def test_a_write_that_lands_after_a_rebalance_is_not_stranded(
    bench: Bench, lands_first: bool
) -> None:
    bench.table.may_write.clear()
    waiting = await _waiting(bench)
    await asyncio.sleep(0.3)
    bench.app.is_leaving = True
    bench.dispatcher.restore({PARTITION})
    bench.app.is_leaving = False
    if lands_first:
        bench.table.may_write.set()
        await bench.until(lambda: key_of(waiting) in bench.table.kept)
    await bench.offer(waiting)
    bench.table.may_write.set()
    await bench.until(lambda: 3 in bench.app.released)
    bench.hanging.clear()
    bench.may_answer.set()

    await bench.until(lambda: waiting in bench.sent)
    await bench.until(lambda: bench.table.kept == {})
    assert bench.sent.count(waiting) == 1


async def test_a_write_that_lands_after_the_partition_went_is_let_be(bench: Bench) -> None:
    bench.table.may_write.clear()
    waiting = await _waiting(bench)
    await asyncio.sleep(0.3)
    bench.dispatcher.restore({PARTITION + 1})
    bench.table.may_write.set()
    await bench.until(lambda: key_of(waiting) in bench.table.kept)
    bench.may_answer.set()
    await asyncio.sleep(0.2)

    assert waiting not in bench.sent
    assert bench.app.released == []


async def test_what_waits_is_not_kept_during_a_rebalance(bench: Bench) -> None:
    waiting = await _waiting(bench)
    bench.app.is_leaving = True
    await asyncio.sleep(0.3)

    assert waiting not in bench.sent
    assert bench.table.kept == {}
    assert bench.app.released == []


@pytest.mark.parametrize("moves", [False, True])
async def test_a_failure_during_a_rebalance_is_left_to_the_next_owner(
    bench: Bench, moves: bool
) -> None:
    one = delivery(1)
    bench.hanging.add(one.endpoint)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.until(lambda: bench.sent == [one])
    bench.app.is_leaving = not moves
    if moves:
        bench.dispatcher.restore({PARTITION + 1})
    bench.may_answer.set()
    await bench.until(lambda: len(bench.told) == 1)
    await asyncio.sleep(0.05)

    assert bench.table.kept == {}
    assert bench.app.released == []

    bench.dispatcher.restore({PARTITION})
    bench.app.is_leaving = False
    await bench.offer(one)
    await bench.until(lambda: bench.app.released == [2])
    assert bench.sent == [one, one]
    assert bench.table.kept[key_of(one)].attempts == 1


async def test_an_outcome_that_was_not_told_is_not_forgotten(bench: Bench) -> None:
    one = delivery(1)
    bench.hanging.add(one.endpoint)
    bench.are_attempts_away = True
    await bench.offer(one)
    await bench.until(lambda: bench.sent == [one])
    bench.app.is_leaving = True
    bench.may_answer.set()
    await asyncio.sleep(0.05)
    assert bench.app.released == []

    bench.dispatcher.restore({PARTITION})
    bench.app.is_leaving = bench.are_attempts_away = False
    await bench.offer(one)
    await bench.until(lambda: bench.app.released == [2])
    assert bench.outcomes() == {AttemptOutcome.DELIVERED: 1}


async def test_what_is_done_during_a_rebalance_is_cleared(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.until(lambda: len(bench.app.released) == 1)
    bench.hanging.add(one.endpoint)
    bench.answers.clear()
    bench.now_ms += 100_000
    await bench.until(lambda: len(bench.sent) == 2)
    bench.app.is_leaving = True
    bench.may_answer.set()

    await bench.until(lambda: bench.table.kept == {})
    assert bench.outcomes()[AttemptOutcome.DELIVERED] == 1


async def test_an_attempt_is_told_once_however_often_the_table_is_away(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    bench.table.is_away = True
    await bench.offer(one)
    await asyncio.sleep(0.8)
    bench.table.is_away = False
    await bench.until(lambda: len(bench.app.released) == 1)

    assert len(bench.told) == 1

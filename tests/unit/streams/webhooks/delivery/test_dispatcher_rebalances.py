"""Unfinished deliveries in a rebalance, or while Kafka is unavailable."""

import asyncio

import pytest

from common.records.deliveries import AttemptOutcome, Delivery
from streams.webhooks.delivery.pending import pending_key
from tests.unit.streams.webhooks.builders import delivery
from tests.unit.streams.webhooks.delivery.bench import FAILED, PARTITION, Bench


async def test_partitions_that_moved_are_left_to_their_new_owner(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.until(lambda: len(bench.app.released) == 1)
    bench.dispatcher.restore({PARTITION + 1})
    bench.advance(100_000)
    await bench.rounds()
    assert len(bench.sent) == 1

    bench.answers.clear()
    bench.dispatcher.restore({PARTITION})
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 1)


async def _waiting(bench: Bench) -> Delivery:
    """Return a delivery that waits for a stalled delivery, and is about to enter the table."""
    await bench.crash()
    bench.new(store_after_seconds=0.0)
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
    await bench.until(lambda: bench.table.tries == 1)
    bench.app.is_leaving = True
    bench.dispatcher.restore({PARTITION})
    bench.app.is_leaving = False
    if lands_first:
        bench.table.may_write.set()
        await bench.until(lambda: pending_key(waiting) in bench.table.kept)
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
    await bench.until(lambda: bench.table.tries == 1)
    bench.dispatcher.restore({PARTITION + 1})
    bench.table.may_write.set()
    await bench.until(lambda: pending_key(waiting) in bench.table.kept)
    bench.may_answer.set()
    await bench.rounds()

    assert waiting not in bench.sent
    assert bench.app.released == []


async def test_what_waits_is_not_stored_during_a_rebalance(bench: Bench) -> None:
    waiting = await _waiting(bench)
    bench.app.is_leaving = True
    await bench.rounds()

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
    await bench.until(lambda: len(bench.published) == 1)
    await bench.rounds()

    assert bench.table.kept == {}
    assert bench.app.released == []

    bench.dispatcher.restore({PARTITION})
    bench.app.is_leaving = False
    await bench.offer(one)
    await bench.until(lambda: bench.app.released == [2])
    assert bench.sent == [one, one]
    assert bench.table.kept[pending_key(one)].attempts == 1


async def test_an_outcome_that_was_not_published_is_not_forgotten(bench: Bench) -> None:
    one = delivery(1)
    bench.hanging.add(one.endpoint)
    bench.are_attempts_unavailable = True
    await bench.offer(one)
    await bench.until(lambda: bench.sent == [one])
    bench.app.is_leaving = True
    bench.may_answer.set()
    await bench.until(lambda: bench.publications == 1)
    await bench.rounds()
    assert bench.app.released == []

    bench.dispatcher.restore({PARTITION})
    bench.app.is_leaving = bench.are_attempts_unavailable = False
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
    bench.advance(100_000)
    await bench.until(lambda: len(bench.sent) == 2)
    bench.app.is_leaving = True
    bench.may_answer.set()

    await bench.until(lambda: bench.table.kept == {})
    assert bench.outcomes()[AttemptOutcome.DELIVERED] == 1


async def test_an_attempt_is_published_once_however_often_the_table_is_unavailable(
    bench: Bench,
) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    bench.table.is_unavailable = True
    await bench.offer(one)
    await bench.until(lambda: bench.table.tries > 2)
    bench.table.is_unavailable = False
    await bench.until(lambda: len(bench.app.released) == 1)

    assert len(bench.published) == 1


async def test_partitions_are_not_revoked_before_writes_in_flight_have_landed(bench: Bench) -> None:
    bench.table.may_write.clear()
    waiting = await _waiting(bench)
    await bench.until(lambda: bench.table.tries == 1)
    bench.app.is_leaving = True
    fence = asyncio.create_task(bench.dispatcher.fence())
    await bench.rounds()
    assert not fence.done()

    bench.table.may_write.set()
    await fence
    assert pending_key(waiting) in bench.table.kept


async def test_what_kafka_takes_is_written_together(bench: Bench) -> None:
    wanted = [delivery(number, endpoint=number) for number in range(200)]
    for one in wanted[::2]:
        bench.answers[one.endpoint] = FAILED
    await bench.offer(*wanted)
    await bench.until(lambda: len(bench.app.released) == 200)

    assert len(bench.published) == 200
    assert bench.publications < 50
    assert bench.table.tries < 50


async def test_a_write_that_lands_during_the_attempt_releases_and_is_cleared(bench: Bench) -> None:
    bench.table.may_write.clear()
    waiting = await _waiting(bench)
    await bench.until(lambda: bench.table.tries == 1)
    first, bench.may_answer = bench.may_answer, asyncio.Event()
    first.set()
    await bench.until(lambda: waiting in bench.sent)
    assert bench.app.released == []

    bench.table.may_write.set()
    await bench.until(lambda: sorted(bench.app.released) == [1, 2])
    assert set(bench.table.kept) == {pending_key(waiting)}
    bench.may_answer.set()
    await bench.until(lambda: bench.table.kept == {})
    await bench.rounds()
    assert bench.metrics.pending == 0
    assert bench.sent.count(waiting) == 1


async def test_a_message_that_comes_again_while_kafka_is_slow_is_not_lost(bench: Bench) -> None:
    stored, failing = delivery(1, endpoint=1), delivery(2, endpoint=2)
    bench.answers[stored.endpoint] = FAILED
    await bench.offer(stored)
    await bench.until(lambda: bench.app.released == [1])
    bench.hanging |= {stored.endpoint, failing.endpoint}
    bench.answers.clear()
    bench.answers[failing.endpoint] = FAILED
    bench.advance(100_000)
    await bench.offer(failing)
    await bench.until(lambda: len(bench.sent) == 3)
    # Both attempts end in the rebalance: one is cleared, the other is redelivered by Kafka.
    bench.app.is_leaving = True
    bench.table.may_write.clear()
    bench.table.is_asked.clear()
    bench.may_answer.set()
    await bench.table.is_asked.wait()
    bench.dispatcher.restore({PARTITION})
    bench.app.is_leaving = False
    await bench.offer(failing)
    bench.table.may_write.set()

    await bench.until(lambda: 3 in bench.app.released)
    assert bench.sent.count(failing) == 2
    assert set(bench.table.kept) == {pending_key(failing)}

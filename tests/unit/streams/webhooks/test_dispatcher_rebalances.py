"""What a rebalance, or Kafka that is away, finds half done."""

import asyncio

import pytest

from contracts.deliveries import AttemptOutcome, Delivery
from streams.webhooks.pending import key_of
from tests.unit.streams.webhooks.bench import FAILED, PARTITION, Bench
from tests.unit.streams.webhooks.builders import delivery


async def test_partitions_that_moved_are_left_to_their_new_owner(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.until(lambda: len(bench.app.released) == 1)
    bench.dispatcher.restore({PARTITION + 1})
    bench.now_ms += 100_000
    await bench.rounds()
    assert len(bench.sent) == 1

    bench.answers.clear()
    bench.dispatcher.restore({PARTITION})
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 1)


async def _waiting(bench: Bench) -> Delivery:
    """Bring a delivery that waits behind one that hangs, and is on its way into the table soon."""
    await bench.crash()
    bench.new(patience_seconds=0.0)
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
    await bench.until(lambda: bench.table.tries == 1)
    bench.dispatcher.restore({PARTITION + 1})
    bench.table.may_write.set()
    await bench.until(lambda: key_of(waiting) in bench.table.kept)
    bench.may_answer.set()
    await bench.rounds()

    assert waiting not in bench.sent
    assert bench.app.released == []


async def test_what_waits_is_not_kept_during_a_rebalance(bench: Bench) -> None:
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
    await bench.until(lambda: len(bench.told) == 1)
    await bench.rounds()

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
    await bench.until(lambda: bench.tellings == 1)
    await bench.rounds()
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
    await bench.until(lambda: bench.table.tries > 2)
    bench.table.is_away = False
    await bench.until(lambda: len(bench.app.released) == 1)

    assert len(bench.told) == 1


async def test_partitions_do_not_go_before_what_is_on_its_way_has_arrived(bench: Bench) -> None:
    bench.table.may_write.clear()
    waiting = await _waiting(bench)
    await bench.until(lambda: bench.table.tries == 1)
    bench.app.is_leaving = True
    fence = asyncio.create_task(bench.dispatcher.fence())
    await bench.rounds()
    assert not fence.done()

    bench.table.may_write.set()
    await fence
    assert key_of(waiting) in bench.table.kept


async def test_what_kafka_takes_is_written_together(bench: Bench) -> None:
    wanted = [delivery(number, endpoint=number) for number in range(200)]
    for one in wanted[::2]:
        bench.answers[one.endpoint] = FAILED
    await bench.offer(*wanted)
    await bench.until(lambda: len(bench.app.released) == 200)

    assert len(bench.told) == 200
    assert bench.tellings < 50
    assert bench.table.tries < 50

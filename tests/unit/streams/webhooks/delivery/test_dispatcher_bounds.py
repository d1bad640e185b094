"""The queue has a limit, and deliveries over the limit are reported."""

import asyncio
from collections import Counter

from common.records.deliveries import AttemptOutcome
from streams.webhooks.delivery.pending import PendingLimits
from tests.unit.streams.webhooks.builders import delivery
from tests.unit.streams.webhooks.delivery.bench import FAILED, Bench


async def test_too_many_for_one_endpoint_fail_and_are_published(bench: Bench) -> None:
    await bench.crash()
    bench.new(pending=PendingLimits(max_total=1_000, max_per_endpoint=10))
    wanted = [delivery(number) for number in range(15)]
    bench.answers[wanted[0].endpoint] = FAILED
    for one in wanted:
        await bench.offer(one)
        await bench.until(lambda: len(bench.app.released) == bench._offset)

    assert len(bench.table.kept) == 10
    assert bench.outcomes()[AttemptOutcome.DEAD] == 5


async def test_an_endpoint_that_fails_later_has_room_as_well(bench: Bench) -> None:
    await bench.crash()
    bench.new(pending=PendingLimits(max_total=40, max_per_endpoint=1_000))
    for endpoint in (1, 2, 3):
        bench.answers[delivery(0, endpoint).endpoint] = FAILED
        for number in range(30):
            await bench.offer(delivery(1000 * endpoint + number, endpoint))
            await bench.until(lambda: len(bench.app.released) == bench._offset)

    kept = Counter(pending.delivery.endpoint for pending in bench.table.kept.values())
    assert sorted(kept.values()) == [6, 10, 20]
    await bench.rounds()
    assert bench.metrics.pending == 36
    assert bench.outcomes()[AttemptOutcome.DEAD] == 90 - 36


async def test_an_endpoint_that_answers_is_served_though_the_table_is_full(bench: Bench) -> None:
    await bench.crash()
    bench.new(pending=PendingLimits(max_total=2, max_per_endpoint=1_000), max_unstored=3)
    failing = [delivery(number, endpoint=number) for number in range(2)]
    bench.answers |= {one.endpoint: FAILED for one in failing}
    await bench.offer(*failing)
    await bench.until(lambda: len(bench.table.kept) == 2)
    slow = [delivery(100 + number, endpoint=9) for number in range(10)]
    bench.hanging.add(slow[0].endpoint)
    offering = asyncio.create_task(bench.offer(*slow))
    await bench.rounds()
    # The queue is full, so no further delivery is accepted.
    assert not offering.done()
    assert len(bench.table.kept) == 2

    bench.may_answer.set()
    await offering
    await bench.until(lambda: len(bench.app.released) == 12)
    assert bench.outcomes()[AttemptOutcome.DELIVERED] == 10


async def test_a_last_failure_says_why_it_was_the_last(bench: Bench) -> None:
    await bench.crash()
    bench.new(pending=PendingLimits(max_total=2, max_per_endpoint=1))
    wanted = [delivery(number) for number in range(2)]
    bench.answers[wanted[0].endpoint] = FAILED
    bench.hanging.add(wanted[0].endpoint)
    await bench.offer(*wanted, *(delivery(10 + number) for number in range(16)))
    bench.may_answer.set()
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DEAD] > 0)

    dead = next(each for each in bench.published if each.outcome is AttemptOutcome.DEAD)
    assert (dead.status, dead.error) == (
        503,
        "Received status 503. Too many deliveries are pending.",
    )

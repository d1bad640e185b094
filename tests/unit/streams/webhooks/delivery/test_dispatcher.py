"""Failures lose no delivery, and a failing delivery does not delay other deliveries."""

from common.records.deliveries import AttemptOutcome
from streams.webhooks.delivery.pending import pending_key
from tests.unit.streams.webhooks.builders import delivery
from tests.unit.streams.webhooks.delivery.bench import ACCEPTED, FAILED, REFUSED, Bench


async def test_a_success_is_published_then_released_and_never_stored(bench: Bench) -> None:
    await bench.offer(*(delivery(number) for number in range(30)))
    await bench.until(lambda: len(bench.app.released) == 30)

    assert bench.outcomes() == {AttemptOutcome.DELIVERED: 30}
    assert bench.table.kept == {}


async def test_an_endpoint_that_keeps_up_gets_its_deliveries_in_order(bench: Bench) -> None:
    wanted = [delivery(number) for number in range(8)]
    await bench.offer(*reversed(wanted))
    await bench.until(lambda: len(bench.app.released) == 8)

    # The first delivery was in flight before the others arrived.
    assert bench.sent == [wanted[-1], *wanted[:-1]]


async def test_a_failure_is_stored_then_released_then_tried_again(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.until(lambda: len(bench.app.released) == 1)
    assert bench.table.kept[pending_key(one)].attempts == 1
    bench.advance(3_900)
    await bench.rounds()
    assert len(bench.sent) == 1

    bench.answers[one.endpoint] = ACCEPTED
    bench.advance(3_000)
    await bench.until(lambda: len(bench.published) == 2)
    await bench.until(lambda: bench.table.kept == {})
    assert [(a.number, a.outcome) for a in bench.published] == [
        (1, AttemptOutcome.RETRYING),
        (2, AttemptOutcome.DELIVERED),
    ]
    assert len({attempt.id for attempt in bench.published}) == 2


async def test_a_retry_is_on_time_after_a_change_of_the_clock(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    await bench.rounds()
    bench.now_ms += 10_000
    await bench.until(lambda: len(bench.published) == 2)


async def test_a_delivery_is_dead_after_the_last_pause(bench: Bench) -> None:
    one = delivery(1)
    bench.answers[one.endpoint] = FAILED
    await bench.offer(one)
    for number in (1, 2, 3):
        await bench.until(lambda: len(bench.published) == number)  # noqa: B023 - awaited at once
        bench.advance(100_000)

    assert bench.published[-1].outcome is AttemptOutcome.DEAD
    await bench.until(lambda: bench.table.kept == {})


async def test_a_permanent_failure_is_dead_at_once(bench: Bench) -> None:
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
    bench.advance(100_000)
    bench.new()
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 40)

    delivered = {a.delivery.id for a in bench.published if a.outcome is AttemptOutcome.DELIVERED}
    assert delivered == {one.id for one in wanted}
    await bench.until(lambda: bench.table.kept == {})


async def test_a_hanging_delivery_is_stored_before_its_message_is_released(bench: Bench) -> None:
    await bench.crash()
    bench.new(store_after_seconds=0.1)
    wanted = [delivery(number) for number in range(12)]
    bench.hanging.add(wanted[0].endpoint)
    await bench.offer(*wanted)
    await bench.rounds(1)
    in_flight = len(bench.sent)
    await bench.until(lambda: len(bench.app.released) == 12 - in_flight)

    assert len(bench.table.kept) == 12 - in_flight
    assert {one.id for one in wanted} == {
        *(pending.delivery.id for pending in bench.table.kept.values()),
        *(sent.id for sent in bench.sent),
    }


async def test_a_hanging_endpoint_delays_no_other(bench: Bench) -> None:
    hanging = delivery(0, endpoint=0)
    bench.hanging.add(hanging.endpoint)
    await bench.offer(*(delivery(number, endpoint=0) for number in range(200)))
    others = [delivery(1000 + number, endpoint=1 + number % 99) for number in range(990)]
    await bench.offer(*others)
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 990)

    assert sum(sent.endpoint == hanging.endpoint for sent in bench.sent) <= 4


async def test_many_failing_endpoints_leave_room_for_the_others(bench: Bench) -> None:
    dead = [delivery(number, endpoint=number) for number in range(100)]
    for one in dead:
        bench.answers[one.endpoint] = FAILED
    await bench.offer(*dead)
    await bench.until(lambda: len(bench.app.released) == 100)
    bench.hanging |= {one.endpoint for one in dead}
    bench.advance(100_000)
    await bench.until(lambda: len(bench.sent) == 100 + 32)
    await bench.offer(*(delivery(1000 + number, endpoint=1000) for number in range(50)))
    await bench.until(lambda: bench.outcomes()[AttemptOutcome.DELIVERED] == 50)

    hanging = {one.endpoint for one in dead}
    assert sum(sent.endpoint in hanging for sent in bench.sent) == 100 + 32


async def test_nothing_is_released_while_kafka_is_unavailable(bench: Bench) -> None:
    ok, failing = delivery(1, endpoint=1), delivery(2, endpoint=2)
    bench.answers[failing.endpoint] = FAILED
    bench.table.is_unavailable = bench.are_attempts_unavailable = True
    await bench.offer(ok, failing)
    await bench.until(lambda: bench.publications > 1)
    assert len(bench.sent) == 2
    assert bench.app.released == []

    bench.table.is_unavailable = bench.are_attempts_unavailable = False
    await bench.until(lambda: len(bench.app.released) == 2)
    assert len(bench.sent) == 2
    assert set(bench.table.kept) == {pending_key(failing)}


async def test_a_message_that_comes_again_is_not_sent_again(bench: Bench) -> None:
    done, pending = delivery(1, endpoint=1), delivery(2, endpoint=2)
    bench.answers[pending.endpoint] = FAILED
    await bench.offer(done, pending)
    await bench.until(lambda: len(bench.app.released) == 2)
    await bench.offer(done, pending)
    await bench.until(lambda: len(bench.app.released) == 4)

    assert len(bench.sent) == 2

"""Attempts are written first, then the table. Records that Kafka rejected are written again."""

import asyncio
from collections.abc import Sequence

import pytest

from common.records.deliveries import DeliveryAttempt
from streams.webhooks.delivery.job import DeliveryJob, DeliveryState
from streams.webhooks.delivery.pending import PendingDelivery, pending_key
from streams.webhooks.delivery.schedule import SendKind, SendResult, attempt_record, decide
from streams.webhooks.delivery.writer import DeliveryOutcome, OutcomeWriter, WriteResult
from tests.unit.streams.runtime.fakes import FakeApp
from tests.unit.streams.webhooks.builders import delivery
from tests.unit.streams.webhooks.delivery.bench import PARTITION, FakeTable

_KINDS = {True: SendKind.ACCEPTED, False: SendKind.FAILED}


class _Bench:
    """A writer with the topic of attempts, a table and an app."""

    def __init__(self) -> None:
        self.app = FakeApp()
        self.table = FakeTable()
        self.published: list[DeliveryAttempt] = []
        self.is_topic_unavailable = False
        self.writer = OutcomeWriter(
            stage=self.app.as_app(), table=self.table, publish=self._publish
        )
        self.writer.assign({PARTITION})

    async def _publish(self, attempts: Sequence[DeliveryAttempt]) -> list[bool]:
        if not self.is_topic_unavailable:
            self.published += attempts
        return [not self.is_topic_unavailable] * len(attempts)


def _waiting(number: int, state: DeliveryState = DeliveryState.STORING) -> DeliveryOutcome:
    made = delivery(number)
    pending = PendingDelivery(delivery=made, attempts=0, due_ms=1, partition=PARTITION)
    return DeliveryOutcome(DeliveryJob(pending_key(made), made, PARTITION, state=state), pending)


def _attempted(number: int, *, is_delivered: bool) -> DeliveryOutcome:
    waiting = _waiting(number, DeliveryState.RECORDING)
    result = SendResult(kind=_KINDS[is_delivered])
    decision = decide(result, attempts=1, now_ms=1, pauses_seconds=(5,))
    attempt = attempt_record(waiting.job.delivery, 1, result, decision, 1, 0.1)
    return DeliveryOutcome(waiting.job, None if is_delivered else waiting.pending, attempt)


def _stored(results: Sequence[WriteResult]) -> list[bool]:
    return [result.is_stored for result in results]


async def test_results_are_returned_and_the_table_matches_them() -> None:
    bench = _Bench()
    delivered = _attempted(1, is_delivered=True)
    failed, waiting = _attempted(2, is_delivered=False), _waiting(3)
    for outcome in (delivered, failed, waiting):
        bench.writer.add(outcome)
    results = await bench.writer.write_next()

    assert [result.outcome for result in results] == [delivered, failed, waiting]
    assert _stored(results) == [True] * 3
    assert set(bench.table.kept) == {failed.job.key, waiting.job.key}
    assert [attempt.delivery for attempt in bench.published] == [
        delivered.job.delivery,
        failed.job.delivery,
    ]


async def test_the_table_is_not_touched_before_the_attempt_is_on_its_topic() -> None:
    bench = _Bench()
    bench.is_topic_unavailable = True
    bench.writer.add(_attempted(1, is_delivered=False))
    assert await bench.writer.write_next() == []
    assert bench.table.kept == {}

    bench.is_topic_unavailable = False
    assert _stored(await bench.writer.write_next()) == [True]
    assert len(bench.published) == len(bench.table.kept) == 1


@pytest.mark.parametrize("moves", [False, True])
async def test_what_another_worker_may_own_is_not_stored_but_the_last_attempt_is_cleared(
    moves: bool,
) -> None:
    bench = _Bench()
    last = _attempted(1, is_delivered=True)
    pending = _waiting(1).pending
    assert pending is not None
    bench.table.kept[last.job.key] = pending
    bench.app.is_leaving = not moves
    if moves:
        bench.writer.assign({PARTITION + 1})
    for outcome in (last, _attempted(2, is_delivered=False), _waiting(3)):
        bench.writer.add(outcome)
    left = await bench.writer.write_next()
    assert _stored(left) == [False] * 2
    results = [*left, *await bench.writer.write_next()]

    assert {result.outcome is last: result.is_stored for result in results} == {
        True: True,
        False: False,
    }
    assert len(results) == 3
    assert bench.table.kept == {}


async def test_what_fails_while_the_stage_leaves_is_returned() -> None:
    bench = _Bench()
    bench.is_topic_unavailable = bench.app.is_leaving = True
    bench.writer.add(_attempted(1, is_delivered=True))

    assert _stored(await bench.writer.write_next()) == [False]


@pytest.mark.parametrize("state", [DeliveryState.ATTEMPTING, DeliveryState.LEFT_TO_REPLAY])
async def test_a_job_that_does_not_wait_any_more_is_not_stored(state: DeliveryState) -> None:
    bench = _Bench()
    bench.writer.add(_waiting(1, state))

    assert await bench.writer.write_next() == []
    assert bench.table.kept == {}


async def test_a_job_is_being_sent_for_as_long_as_kafka_takes() -> None:
    bench = _Bench()
    bench.table.may_write.clear()
    waiting = _waiting(1)
    bench.writer.add(waiting)
    writing = asyncio.create_task(bench.writer.write_next())
    await bench.table.is_asked.wait()
    assert bench.writer.is_sending(waiting.job)

    bench.table.may_write.set()
    assert _stored(await writing) == [True]
    assert not bench.writer.is_sending(waiting.job)


async def test_what_is_not_stored_is_returned_before_kafka_is_waited_for() -> None:
    bench = _Bench()
    last, retried = _attempted(1, is_delivered=True), _attempted(2, is_delivered=False)
    assert last.job.key != retried.job.key
    bench.table.kept[last.job.key] = PendingDelivery(
        delivery=last.job.delivery, attempts=1, due_ms=1, partition=PARTITION
    )
    bench.table.may_write.clear()
    bench.app.is_leaving = True
    for outcome in (last, retried):
        bench.writer.add(outcome)
    async with asyncio.timeout(1):
        results = await bench.writer.write_next()
    assert [result.outcome for result in results] == [retried]

    bench.table.may_write.set()
    assert _stored(await bench.writer.write_next()) == [True]
    assert bench.table.kept == {}
    assert len(bench.published) == 2

"""Inference workers shared between accounts."""

import asyncio
from uuid import UUID

import pytest

from api.limits.fair_queue import queue_as
from api.recognize.readers import DEMO, FairReader
from recognition.workers.pool import RecognizerBusyError
from recognition.workers.protocol import ImageReadings
from tests.unit.api.callers import named_id

ONE, OTHER = named_id("one"), named_id("other")
WAIT_SECONDS = 60


class Processes:
    """Returns empty readings, for each image once a test releases it."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self._ends: dict[bytes, asyncio.Event] = {}

    async def read_image(self, data: bytes, *, wait_seconds: float) -> ImageReadings:
        assert 0 < wait_seconds <= WAIT_SECONDS
        self.begun.append(data)
        self._ends[data] = asyncio.Event()
        await self._ends[data].wait()
        return ImageReadings((), 1, 1, 1)

    async def end(self, data: bytes) -> None:
        """End the reading of an image, and run the tasks that follow."""
        self._ends[data].set()
        await settle()


async def settle() -> None:
    """Let all tasks run as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Bench:
    """A reader, its processes, and the calls so far."""

    def __init__(
        self, *, at_once: int = 2, waiting: int = 8, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self.processes = Processes()
        self.reader = FairReader(
            self.processes, at_once=at_once, waiting=waiting, wait_seconds=wait_seconds
        )

    async def ask(self, *images: bytes, payer: UUID | None) -> list[asyncio.Task[ImageReadings]]:
        calls = [asyncio.create_task(self.reader.read_image(one, payer)) for one in images]
        await settle()
        return calls


async def test_who_sends_one_image_waits_for_no_more_than_one_of_each_other() -> None:
    bench = Bench()
    calls = await bench.ask(b"1a", b"1b", b"1c", b"1d", b"1e", payer=ONE)
    calls += await bench.ask(b"2a", b"2b", payer=OTHER)
    assert bench.processes.begun == [b"1a", b"1b"]

    for image in (b"1a", b"1b", b"1c", b"2a"):
        await bench.processes.end(image)
    assert bench.processes.begun == [b"1a", b"1b", b"1c", b"2a", b"1d", b"2b"]
    for image in (b"1d", b"2b", b"1e"):
        await bench.processes.end(image)
    assert len(await asyncio.gather(*calls)) == 7
    assert bench.reader.waiting == 0


async def test_the_demo_takes_no_place_of_those_who_pay() -> None:
    bench = Bench(at_once=4)
    await bench.ask(b"d1", b"d2", b"d3", b"d4", b"d5", payer=DEMO)
    assert bench.processes.begun == [b"d1"]
    assert bench.reader.waiting == 0
    refused = bench.reader.read_image(b"d6", DEMO)
    with pytest.raises(RecognizerBusyError, match="full"):
        await refused

    await bench.ask(b"1a", b"1b", b"1c", b"1d", payer=ONE)
    assert bench.processes.begun == [b"d1", b"1a", b"1b", b"1c"]
    await bench.processes.end(b"d1")
    assert bench.processes.begun[-1] == b"1d"
    await bench.processes.end(b"1a")
    assert bench.processes.begun[-1] == b"d2"


async def test_one_network_does_not_keep_the_demo_from_another() -> None:
    bench = Bench(at_once=4)
    queue_as("2001:db8:1::/48")
    calls = await bench.ask(b"d1", b"d2", b"d3", b"d4", b"d5", payer=DEMO)
    queue_as("192.0.2.0/24")
    await bench.ask(b"o1", payer=DEMO)
    with pytest.raises(RecognizerBusyError, match="full"):
        await calls[-1]
    for image in (b"d1", b"d2"):
        await bench.processes.end(image)
    assert bench.processes.begun == [b"d1", b"d2", b"o1"]


async def test_too_many_that_wait_are_refused() -> None:
    bench = Bench(at_once=1, waiting=2)
    await bench.ask(b"1", b"2", b"3", payer=ONE)
    with pytest.raises(RecognizerBusyError, match="full"):
        await bench.reader.read_image(b"4", ONE)


async def test_who_fills_the_queue_makes_room_for_others() -> None:
    bench = Bench(at_once=1, waiting=4)
    calls = await bench.ask(b"1", b"2", b"3", b"4", b"5", payer=ONE)
    others = await bench.ask(b"a", b"b", payer=OTHER)
    for last in calls[3:]:
        with pytest.raises(RecognizerBusyError, match="full"):
            await last
    # Both callers have the same number of calls, so no call is dropped.
    with pytest.raises(RecognizerBusyError, match="full"):
        await bench.reader.read_image(b"c", OTHER)

    for image in (b"1", b"2", b"a", b"3", b"b"):
        await bench.processes.end(image)
    assert bench.processes.begun == [b"1", b"2", b"a", b"3", b"b"]
    await asyncio.gather(*calls[:3], *others)


async def test_a_call_that_times_out_in_the_queue_is_rejected_and_removed() -> None:
    bench = Bench(at_once=1, wait_seconds=0.01)
    (first,) = await bench.ask(b"1", payer=ONE)
    with pytest.raises(RecognizerBusyError, match="timed out"):
        await bench.reader.read_image(b"2", OTHER)
    assert bench.reader.waiting == 0

    await bench.processes.end(b"1")
    await first
    await bench.ask(b"3", payer=OTHER)
    assert bench.processes.begun == [b"1", b"3"]


async def test_a_caller_that_is_gone_loses_no_place() -> None:
    bench = Bench(at_once=1)
    (reading,) = await bench.ask(b"1", payer=ONE)
    waiting = await bench.ask(b"2", b"3", payer=ONE)
    (other,) = await bench.ask(b"4", payer=OTHER)

    # The slot becomes free in the same step in which a caller disconnects.
    waiting[0].cancel()
    reading.cancel()
    await settle()
    assert bench.processes.begun == [b"1", b"3"]
    await bench.processes.end(b"3")
    other.cancel()
    await settle()
    await bench.ask(b"5", payer=ONE)
    assert bench.processes.begun == [b"1", b"3", b"4", b"5"]

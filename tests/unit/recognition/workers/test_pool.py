import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.errors import InvalidInputError, MisconfiguredError, TransientError
from recognition.settings import RecognizerPoolSettings
from recognition.workers.pool import (
    QUEUE_LIMIT,
    TIMEOUT_SECONDS,
    RecognizerBusyError,
    RecognizerCrashedError,
    RecognizerPool,
    RecognizerTimeoutError,
)
from recognition.workers.protocol import ImageReadings
from recognition.workers.worker import NICE

WORKER = "tests.unit.recognition.workers.scripted_worker"


def pool_of(
    workers: int = 1,
    *,
    queue_limit: int = QUEUE_LIMIT,
    timeout_seconds: float = TIMEOUT_SECONDS,
    **settings: Any,
) -> RecognizerPool:
    fields = {f"recognition_{name}": value for name, value in settings.items()}
    return RecognizerPool(
        RecognizerPoolSettings.model_validate({"recognition_workers": workers, **fields}),
        worker_module=WORKER,
        queue_limit=queue_limit,
        timeout_seconds=timeout_seconds,
    )


@pytest.fixture
async def pool() -> AsyncIterator[RecognizerPool]:
    async with pool_of() as pool:
        yield pool


def _until_there(path: Path) -> bytes:
    """Run a job that ends once the file exists."""
    return f"wait {path}".encode()


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    for _ in range(round(seconds * 100)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not within {seconds} s")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False


async def test_answers_with_size_and_passes_the_least_width_on(pool: RecognizerPool) -> None:
    found = await pool.read_image(b"do", min_plate_width_px=40)
    assert found.height_px == 40
    assert {found.width_px} == pool.pids


async def test_processes_stand_back() -> None:
    async with pool_of() as pool:
        await pool.read_image(b"do")
        (pid,) = pool.pids
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, own + NICE)


async def test_a_bad_image_is_refused_and_the_process_stays(pool: RecognizerPool) -> None:
    before = pool.pids
    with pytest.raises(InvalidInputError) as refused:
        await pool.read_image(b"refuse")
    assert refused.value.code == "unreadable_image"
    assert str(refused.value) == "The image is bad."
    await pool.read_image(b"do")
    assert pool.pids == before


async def test_an_image_over_which_our_code_fails_is_refused_and_the_process_stays(
    pool: RecognizerPool,
) -> None:
    before = pool.pids
    for _ in range(3):
        with pytest.raises(InvalidInputError) as refused:
            await pool.read_image(b"fail")
        assert refused.value.code == "unreadable_image"
        await pool.read_image(b"do")
    assert (pool.pids, pool.replaced) == (before, 0)


async def test_a_crash_hits_one_caller_only(pool: RecognizerPool) -> None:
    crashed = asyncio.create_task(pool.read_image(b"crash"))
    others = [asyncio.create_task(pool.read_image(b"do")) for _ in range(5)]
    with pytest.raises(RecognizerCrashedError):
        await crashed
    pids = {(await other).width_px for other in others}
    assert pids == pool.pids
    assert pool.replaced == 1


async def test_what_lay_with_a_lost_process_is_done_by_the_next(pool: RecognizerPool) -> None:
    lost = asyncio.create_task(pool.read_image(b"sleep 60", timeout_seconds=0.5))
    next_ones = [asyncio.create_task(pool.read_image(b"do")) for _ in range(3)]
    await until(lambda: pool.working == 1)
    assert pool.waiting == 2
    with pytest.raises(RecognizerTimeoutError):
        await lost
    assert {(await each).width_px for each in next_ones} == pool.pids
    assert pool.waiting == 0


async def test_a_kill_from_outside_is_a_crash(pool: RecognizerPool) -> None:
    (pid,) = pool.pids
    asking = asyncio.create_task(pool.read_image(b"sleep 60"))
    await until(lambda: pool.working == 1)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RecognizerCrashedError):
        await asking
    assert (await pool.read_image(b"do")).width_px != pid


async def test_a_death_while_idle_costs_at_most_one_image(pool: RecognizerPool) -> None:
    (pid,) = pool.pids
    os.kill(pid, signal.SIGKILL)
    results = await asyncio.gather(
        *(pool.read_image(b"do") for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(result, RecognizerCrashedError) for result in results) <= 1


async def test_a_hung_process_is_killed_and_replaced(pool: RecognizerPool) -> None:
    (pid,) = pool.pids
    with pytest.raises(RecognizerTimeoutError):
        await pool.read_image(b"sleep 60", timeout_seconds=0.2)
    assert (await pool.read_image(b"do")).width_px != pid
    assert not is_running(pid)


async def test_a_process_that_was_frozen_with_its_parent_is_not_hung(tmp_path: Path) -> None:
    async with pool_of(timeout_seconds=2.0) as pool:
        pid = (await pool.read_image(b"do")).width_px
        reading = asyncio.create_task(pool.read_image(_until_there(tmp_path / "go")))
        await until(lambda: pool.working == 1)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(3)  # noqa: ASYNC251 - the parent is blocked
        os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(0.2)
        (tmp_path / "go").touch()
        found = await reading
        assert (found.width_px, pool.replaced) == (pid, 0)


async def test_a_long_wait_in_the_queue_ends_without_a_kill(tmp_path: Path) -> None:
    async with pool_of(timeout_seconds=30) as pool:
        working = asyncio.create_task(pool.read_image(_until_there(tmp_path / "go")))
        await until(lambda: pool.working == 1)
        with pytest.raises(RecognizerBusyError):
            await pool.read_image(b"do", timeout_seconds=0.1)
        (tmp_path / "go").touch()
        await working
        assert pool.replaced == 0


async def test_a_full_queue_refuses_at_once(tmp_path: Path) -> None:
    async with pool_of(queue_limit=2) as pool:
        working = asyncio.create_task(pool.read_image(_until_there(tmp_path / "go")))
        await until(lambda: pool.working == 1)
        waiting = [asyncio.create_task(pool.read_image(b"do")) for _ in range(2)]
        await until(lambda: pool.waiting == 2)
        with pytest.raises(RecognizerBusyError):
            await pool.read_image(b"do")
        (tmp_path / "go").touch()
        await asyncio.gather(working, *waiting)


async def test_a_caller_that_leaves_disturbs_no_other(pool: RecognizerPool, tmp_path: Path) -> None:
    leaving = asyncio.create_task(pool.read_image(_until_there(tmp_path / "go")))
    await until(lambda: pool.working == 1)
    leaving.cancel()
    (tmp_path / "go").touch()
    assert {(await pool.read_image(b"do")).width_px} == pool.pids
    assert pool.replaced == 0


async def test_a_process_that_has_grown_is_replaced(pool: RecognizerPool) -> None:
    grown = await pool.read_image(b"grown 4000")
    assert (await pool.read_image(b"do")).width_px != grown.width_px


async def test_an_image_that_takes_too_much_memory_is_a_crash() -> None:
    async with pool_of(worker_memory_bytes=300 * 1024 * 1024) as pool:
        with pytest.raises(RecognizerCrashedError):
            await pool.read_image(b"allocate 2000")
        await pool.read_image(b"allocate 10")


async def test_processes_work_at_the_same_time(tmp_path: Path) -> None:
    async with pool_of(workers=3) as pool:
        job = _until_there(tmp_path / "go")
        asking = [asyncio.create_task(pool.read_image(job)) for _ in range(3)]
        await until(lambda: pool.working == 3)
        (tmp_path / "go").touch()
        assert {(await each).width_px for each in asking} == pool.pids


async def asked_of_a_batch(
    pool: RecognizerPool, folder: Path, *images: bytes
) -> list[ImageReadings | BaseException]:
    """Return the results for images that reach the process at the same time."""
    held = asyncio.create_task(pool.read_image(_until_there(folder / "go")))
    await until(lambda: pool.working == 1)
    asking = [
        asyncio.create_task(pool.read_image(one, timeout_seconds=3, wait_seconds=60))
        for one in images
    ]
    await until(lambda: pool.waiting == len(images))
    (folder / "go").touch()
    await held
    return await asyncio.gather(*asking, return_exceptions=True)


async def test_a_process_has_what_it_reads_together_next_before_it_is_done(tmp_path: Path) -> None:
    async with pool_of(batch=4) as pool:
        images = [_until_there(tmp_path / "go"), *[b"together"] * 9]
        asking = [asyncio.create_task(pool.read_image(image)) for image in images]
        await until(lambda: pool.working == 1)
        assert pool.waiting == len(images) - 2 * 4
        (tmp_path / "go").touch()
        together = [(await one).width_px for one in asking[1:]]
    assert 1 <= min(together) <= max(together) <= 4


async def test_processes_that_take_several_at_once_leave_idle_ones_as_many(tmp_path: Path) -> None:
    async with pool_of(workers=2, batch=4) as pool:
        await until(lambda: len(pool.pids) == 2)
        job = _until_there(tmp_path / "go")
        asking = [asyncio.create_task(pool.read_image(job)) for _ in range(8)]
        await until(lambda: pool.working == 2)
        (tmp_path / "go").touch()
        done_by = [(await one).width_px for one in asking]
    assert [done_by.count(pid) for pid in set(done_by)] == [4, 4]


async def test_images_are_read_one_by_one_where_nothing_is_said(tmp_path: Path) -> None:
    async with pool_of() as pool:
        answers = await asked_of_a_batch(pool, tmp_path, *[b"together"] * 5)
    assert [getattr(one, "width_px", one) for one in answers] == [1] * 5


@pytest.mark.parametrize(
    ("image", "fault"),
    [(b"crash", RecognizerCrashedError), (b"sleep 60", RecognizerTimeoutError)],
)
async def test_of_those_read_together_only_the_one_to_blame_is_lost(
    tmp_path: Path, image: bytes, fault: type[Exception]
) -> None:
    async with pool_of(batch=4) as pool:
        answers = await asked_of_a_batch(pool, tmp_path, b"do", b"do", image, b"do", b"do", b"do")
        assert isinstance(answers.pop(2), fault)
        assert all(isinstance(one, ImageReadings) for one in answers)
        assert pool.waiting == 0


async def test_images_read_together_with_one_that_fails_are_answered(tmp_path: Path) -> None:
    async with pool_of(batch=4) as pool:
        answers = await asked_of_a_batch(pool, tmp_path, b"do", b"do", b"fail", b"do", b"do")
        assert isinstance(answers.pop(2), InvalidInputError)
        assert {getattr(one, "width_px", one) for one in answers} == pool.pids
        assert pool.replaced == 0


async def test_stop_ends_those_that_wait_for_being_read_alone() -> None:
    async with pool_of(batch=4) as pool:
        await until(lambda: bool(pool.pids))
        (pid,) = pool.pids
        asking = [asyncio.create_task(pool.read_image(b"sleep 60")) for _ in range(4)]
        await until(lambda: pool.working == 1)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: pool.replaced == 1)
    for one in asking:
        with pytest.raises(RecognizerBusyError):
            await one


async def test_what_cannot_start_says_so() -> None:
    with pytest.raises(MisconfiguredError, match="the reader is missing"):
        await pool_of(workers=2, reader_model="missing.onnx").start()


async def test_what_dies_while_starting_says_so() -> None:
    with pytest.raises(TransientError):
        await pool_of(reader_model="dies.onnx").start()


async def test_stop_ends_the_processes_and_whoever_waits() -> None:
    pool = pool_of()
    await pool.start()
    pids = pool.pids
    working, waiting = (asyncio.create_task(pool.read_image(b"sleep 60")) for _ in range(2))
    await until(lambda: pool.working == 1)
    await pool.stop()
    for asking in (working, waiting):
        with pytest.raises(RecognizerBusyError):
            await asking
    assert not any(is_running(pid) for pid in pids)


_PARENT = f"""
import asyncio, sys
from recognition.workers.pool import RecognizerPool, QUEUE_LIMIT, TIMEOUT_SECONDS
from recognition.settings import RecognizerPoolSettings

async def main():
    settings = RecognizerPoolSettings(recognition_workers=2)
    pool = RecognizerPool(settings, worker_module="{WORKER}")
    await pool.start()
    asking = asyncio.create_task(pool.read_image(b"sleep 600"))
    await asyncio.sleep(0)
    print(*pool.pids, flush=True)
    await asking

asyncio.run(main())
"""


async def test_a_pool_that_stops_at_once_leaves_no_process() -> None:
    before = psutil.Process().children()
    async with pool_of(2):
        pass
    assert psutil.Process().children() == before


def test_processes_die_with_their_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.kill()
    asyncio.run(until(lambda: not any(is_running(pid) for pid in pids)))

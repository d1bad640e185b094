"""Manages a pool of inference workers. Workers that hang or crash are replaced.

``concurrent.futures.ProcessPoolExecutor`` fails completely when a process dies, and cannot stop a
hung process. So here, a separate task serves each process.
"""

import asyncio
from collections import deque
from typing import Self

import structlog

from common.errors import InvalidInputError, MisconfiguredError, TransientError
from recognition.analysis_hints import NOTHING_KNOWN, AnalysisHints
from recognition.settings import RecognizerPoolSettings
from recognition.workers.process import WORKER_MODULE, WorkerProcess
from recognition.workers.protocol import ImageReadings, Job, JobOutcome

log = structlog.get_logger()

_RESTART_DELAY_SECONDS = 1.0
_TIMEOUT_SLICES = 8
QUEUE_LIMIT = 64
"""Maximum number of images waiting for a worker."""
TIMEOUT_SECONDS = 10.0
"""Maximum time for an image or a batch, after which the worker is killed and replaced."""


class RecognizerBusyError(TransientError):
    """Too many images are waiting, or an image waited too long for an inference worker."""


class RecognizerTimeoutError(TransientError):
    """Reading the image took too long, so the worker was killed."""


class RecognizerCrashedError(TransientError):
    """The inference worker crashed while reading the image."""


class _Request:
    """An image that is waiting for a worker or is being read by a worker."""

    def __init__(self, job: Job, timeout_seconds: float, wait_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self.job = job
        self.is_suspect = False
        self.timeout_seconds = timeout_seconds
        self._wait_seconds = wait_seconds
        self.answer: asyncio.Future[JobOutcome] = self._loop.create_future()
        self.wait()

    def wait(self, longer_seconds: float = 0.0) -> None:
        """Start waiting for a worker until the request expires."""
        error = RecognizerBusyError("no inference worker became available in time")
        self._expiry = self._loop.call_later(self._wait_seconds + longer_seconds, self.fail, error)

    def claim(self) -> bool:
        """Stop the expiry. Return whether the caller still needs the answer."""
        self._expiry.cancel()
        return not self.answer.done()

    def succeed(self, outcome: JobOutcome) -> None:
        if not self.answer.done():
            self.answer.set_result(outcome)

    def fail(self, error: Exception) -> None:
        self._expiry.cancel()
        if not self.answer.done():
            self.answer.set_exception(error)


class RecognizerPool:
    """A fixed number of inference workers with a shared bounded queue.

    An asynchronous context manager, whose workers die with this process, even after ``kill -9``.
    """

    def __init__(
        self,
        settings: RecognizerPoolSettings,
        *,
        worker_module: str = WORKER_MODULE,
        queue_limit: int = QUEUE_LIMIT,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Prepare workers that run ``worker_module``. :meth:`start` starts the workers."""
        self._settings = settings
        self._worker_module = worker_module
        self._timeout_seconds = timeout_seconds
        self._queue: asyncio.Queue[_Request] = asyncio.Queue(queue_limit)
        self._suspects: deque[_Request] = deque()
        self._slots: list[asyncio.Task[None]] = []
        self._pids: set[int] = set()
        self._idle = 0
        self.working = 0
        """Number of images that workers are reading."""
        self.replaced = 0
        """Number of workers replaced since the start, for any reason."""

    @property
    def waiting(self) -> int:
        """Number of images that are waiting for a worker."""
        return self._queue.qsize() + len(self._suspects)

    @property
    def size(self) -> int:
        """Number of workers when all workers are ready."""
        return self._settings.worker_count

    @property
    def pids(self) -> frozenset[int]:
        """Process IDs of the workers that are ready."""
        return frozenset(self._pids)

    async def __aenter__(self) -> Self:
        """Start the pool."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the pool."""
        await self.stop()

    async def start(self) -> None:
        """Start all workers and wait until they are ready.

        Raises:
            MisconfiguredError: the models or settings are invalid.
            TransientError: a worker crashed or hung while starting.
        """
        arguments = self._settings, self._worker_module
        starts = [WorkerProcess.start(*arguments) for _ in range(self.size)]
        results = await asyncio.gather(*starts, return_exceptions=True)
        workers = [result for result in results if isinstance(result, WorkerProcess)]
        faults = [result for result in results if isinstance(result, BaseException)]
        if faults:
            await asyncio.gather(*(worker.kill() for worker in workers))
            if isinstance(faults[0], MisconfiguredError):
                raise faults[0]
            name = type(faults[0]).__name__
            raise TransientError(f"an inference worker failed to start: {name}") from faults[0]
        self._slots = [asyncio.create_task(self._run_slot(worker)) for worker in workers]
        await asyncio.sleep(0)  # A task cancelled before its start would not kill its worker.

    async def stop(self) -> None:
        """Kill the workers and fail all waiting requests."""
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)
        self._slots = []
        while not self._queue.empty():
            self._suspects.append(self._queue.get_nowait())
        while self._suspects:
            self._suspects.pop().fail(RecognizerBusyError("recognition is shutting down"))

    async def read_image(
        self,
        data: bytes,
        *,
        min_plate_width_px: int = 0,
        hints: AnalysisHints = NOTHING_KNOWN,
        timeout_seconds: float | None = None,
        wait_seconds: float | None = None,
    ) -> ImageReadings:
        """Return the plates in a JPEG or PNG file. The call can be cancelled.

        ``timeout_seconds`` limits the reading (default: the pool's timeout), and ``wait_seconds``
        limits the wait for a worker (default: the same time).

        Raises:
            InvalidInputError: the image cannot be decoded. The error's code is the reason.
            RecognizerBusyError: the queue is full, or no worker became available in time.
            RecognizerTimeoutError: the reading took too long.
            RecognizerCrashedError: the worker crashed.
        """
        timeout = timeout_seconds or self._timeout_seconds
        job = Job(image=data, min_plate_width_px=min_plate_width_px, hints=hints)
        request = _Request(job, timeout, wait_seconds or timeout)
        self._enqueue(request)
        outcome = await request.answer
        if outcome.error_code is not None:
            raise InvalidInputError(outcome.error_message, code=outcome.error_code)
        return outcome

    def _enqueue(self, request: _Request) -> None:
        try:
            self._queue.put_nowait(request)
        except asyncio.QueueFull:
            request.fail(RecognizerBusyError("too many images are waiting for a worker"))

    async def _run_slot(self, worker: WorkerProcess) -> None:
        while True:
            self._pids.add(worker.pid)
            try:
                await self._serve(worker)
            finally:
                self._pids.discard(worker.pid)
                await worker.kill()
            worker = await self._replacement()

    async def _replacement(self) -> WorkerProcess:
        while True:
            self.replaced += 1
            try:
                return await WorkerProcess.start(self._settings, self._worker_module)
            except (MisconfiguredError, OSError, EOFError, TimeoutError):
                log.exception("inference_worker_start_failed")
                await asyncio.sleep(_RESTART_DELAY_SECONDS)

    async def _serve(self, worker: WorkerProcess) -> None:
        """Send requests to the worker until the worker must be replaced.

        If more requests are waiting than the idle workers can take (all the same number), the
        worker gets its next batch before it has finished the last batch, so that it is not idle
        until this process runs again. A suspect request is sent alone.
        """
        in_flight: deque[_Request] = deque()
        max_in_flight = 2 * self._settings.batch_size
        try:
            while True:
                if not in_flight:
                    self._dispatch(worker, in_flight, await self._next_request())
                while 0 < len(in_flight) < max_in_flight and not in_flight[0].is_suspect:
                    if self._queue.qsize() <= self._idle * len(in_flight):
                        break
                    self._dispatch(worker, in_flight, self._queue.get_nowait())
                if in_flight and not await self._await_outcome(worker, in_flight):
                    return
        finally:
            for request in in_flight:
                if not request.answer.done():
                    request.wait()
                    self._enqueue(request)

    async def _next_request(self) -> _Request:
        if self._suspects:
            return self._suspects.popleft()
        self._idle += 1
        try:
            return await self._queue.get()
        finally:
            self._idle -= 1

    def _dispatch(
        self, worker: WorkerProcess, in_flight: deque[_Request], request: _Request
    ) -> None:
        if request.claim():
            worker.send(request.job)
            in_flight.append(request)

    async def _await_outcome(self, worker: WorkerProcess, in_flight: deque[_Request]) -> bool:
        """Complete the oldest request. Return whether the worker can continue."""
        request = in_flight.popleft()
        self.working += 1
        try:
            outcome = await _receive_within(worker, request.timeout_seconds)
        except TimeoutError:
            log.warning("inference_worker_hung", pid=worker.pid, seconds=request.timeout_seconds)
            lost = RecognizerTimeoutError("reading the image took too long")
            self._on_lost(request, in_flight, lost)
        except (OSError, EOFError):
            size = len(request.job.image)
            log.warning("inference_worker_crashed", pid=worker.pid, image_bytes=size)
            crashed = RecognizerCrashedError("the inference worker crashed while reading the image")
            self._on_lost(request, in_flight, crashed)
        except asyncio.CancelledError:
            request.fail(RecognizerBusyError("recognition is shutting down"))
            raise
        else:
            request.succeed(outcome)
            size = outcome.resident_bytes
            if size <= self._settings.worker_memory_bytes:
                return True
            log.warning("inference_worker_too_large", pid=worker.pid, resident_bytes=size)
        finally:
            self.working -= 1
        return False

    def _on_lost(self, request: _Request, in_flight: deque[_Request], error: Exception) -> None:
        """Fail the request whose worker was lost.

        If the worker had several requests, any request may be the cause, so each is retried alone.
        """
        if not in_flight or self._settings.batch_size == 1:
            request.fail(error)
            return
        before_seconds = 0.0
        for one in (request, *in_flight):
            one.is_suspect = True
            if not one.answer.done():
                one.wait(before_seconds)
            before_seconds += one.timeout_seconds
        self._suspects.extend((request, *in_flight))
        in_flight.clear()


async def _receive_within(worker: WorkerProcess, seconds: float) -> JobOutcome:
    """Return the next outcome of a worker, within ``seconds``.

    If this process is suspended, for example with the whole machine, only one time slice counts,
    because the worker was suspended as well.

    Raises:
        TimeoutError: there was no outcome in time.
        OSError, EOFError: the worker crashed.
    """
    receiving = asyncio.ensure_future(worker.receive())
    try:
        for _ in range(_TIMEOUT_SLICES):
            done, _ = await asyncio.wait({receiving}, timeout=seconds / _TIMEOUT_SLICES)
            if done:
                return receiving.result()
    finally:
        receiving.cancel()
    raise TimeoutError

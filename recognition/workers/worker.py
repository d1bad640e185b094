"""Runs an inference worker, which receives images from a socket and returns readings.

Started by :mod:`recognition.workers.process` as ``python -m recognition.workers.worker FD
PARENT_PID SETTINGS``.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import BinaryIO

import cv2

from common.errors import InvalidInputError, MisconfiguredError
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.scene import scene_view
from recognition.settings import RecognizerPoolSettings
from recognition.types import BgrImage
from recognition.workers.protocol import (
    LENGTH_BYTES,
    MISCONFIGURED,
    Job,
    JobOutcome,
    framed,
    job_decoder,
)

_PR_SET_PDEATHSIG = 1
NICE = 5
"""Nice value. Inference uses most of the CPU time, so other processes must have priority."""
_RESERVED, _RESIDENT = 0, 1
_OWN_ERRORS = (ArithmeticError, AssertionError, LookupError, TypeError, ValueError, cv2.error)

JobHandler = Callable[[list[Job]], list[JobOutcome]]
"""Handles a batch of jobs. Returns one outcome per job, in order."""


def run_worker(make_handler: Callable[[RecognizerPoolSettings], JobHandler]) -> None:
    """Create the handler, report to the parent, then handle the parent's jobs. Reads ``sys.argv``.

    Ends when the parent closes the socket or dies. Waiting jobs are handled as a batch of at most
    the configured size.
    """
    descriptor, parent_pid, settings_json = sys.argv[1:]
    _die_with_parent(int(parent_pid))
    settings = RecognizerPoolSettings(**json.loads(settings_json))
    os.nice(NICE)
    with socket.socket(fileno=int(descriptor)) as connection:
        try:
            handle = make_handler(settings)
        except MisconfiguredError as error:
            _answer(connection, JobOutcome(error_code=MISCONFIGURED, error_message=str(error)))
            return
        _limit_memory(settings.worker_memory_bytes)
        _answer(connection, JobOutcome(resident_bytes=_memory_bytes(_RESIDENT)))
        jobs: Queue[Job | None] = Queue(maxsize=settings.batch_size)
        Thread(target=_receive_jobs, args=(connection, jobs), daemon=True).start()
        for batch in batches(jobs, settings.batch_size):
            for outcome in _outcomes(handle, batch):
                _answer(connection, outcome)


def _outcomes(handle: JobHandler, jobs: list[Job]) -> list[JobOutcome]:
    """Return the outcomes of a batch. If our own code fails on an image, the image is rejected.

    Any other error ends the process. Memory may be exhausted, or the runtime may be broken.
    """
    try:
        return handle(jobs)
    except _OWN_ERRORS as error:
        if len(jobs) > 1:
            return [outcome for job in jobs for outcome in _outcomes(handle, [job])]
        _log_error(type(error).__name__)
        refused = InvalidInputError("The image cannot be decoded.", code="unreadable_image")
        return [error_outcome(refused)]


@cache
def _log_error(kind: str) -> None:
    """Write the current error's traceback to standard error, once per kind of error."""
    traceback.print_exc()


def _image_reader(settings: RecognizerPoolSettings) -> JobHandler:
    # One thread per worker: several workers use cores better than one worker with a thread pool.
    cv2.setNumThreads(1)
    recognizer = Recognizer(settings)
    if settings.batch_size > 1:
        recognizer.warm_up(settings.batch_size)
    return partial(read_image_files, recognizer)


def read_image_files(recognizer: Recognizer, jobs: list[Job]) -> list[JobOutcome]:
    """Return the readings of each job's image, or an error if the image cannot be decoded."""
    started = time.perf_counter()
    outcomes, images = dict[int, JobOutcome](), dict[int, BgrImage]()
    for index, job in enumerate(jobs):
        try:
            images[index] = decode_image(job.image)
        except InvalidInputError as error:
            outcomes[index] = error_outcome(error)
    min_widths_px = [jobs[index].min_plate_width_px for index in images]
    hints = [jobs[index].hints for index in images]
    plates = recognizer.find_all([*images.values()], min_widths_px, hints)
    each_ms = (time.perf_counter() - started) * 1000 / len(jobs)
    for (index, image), found in zip(images.items(), plates, strict=True):
        outcomes[index] = JobOutcome(
            readings=tuple(found.readings),
            left=found.left,
            followed=found.followed,
            width_px=image.shape[1],
            height_px=image.shape[0],
            view=scene_view(image),
            duration_ms=each_ms,
            resident_bytes=_memory_bytes(_RESIDENT),
        )
    return [outcomes[index] for index in range(len(jobs))]


def error_outcome(error: InvalidInputError) -> JobOutcome:
    """Return the outcome of a job whose image cannot be decoded."""
    return JobOutcome(error_code=error.code, error_message=str(error))


def _die_with_parent(parent_pid: int) -> None:
    """Make the kernel kill this process when its parent dies, even by ``kill -9``.

    **Source:** prctl(2), PR_SET_PDEATHSIG.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent_pid:
        sys.exit(0)


def _limit_memory(ceiling_bytes: int) -> None:
    # Runtimes reserve far more address space than they use, so the limit is the current reservation
    # plus the ceiling. For an image that needs more, the allocation fails.
    reserved = _memory_bytes(_RESERVED)
    resource.setrlimit(resource.RLIMIT_AS, (reserved + ceiling_bytes, resource.RLIM_INFINITY))


def _memory_bytes(column: int) -> int:
    """Return a column of this process's memory, in bytes. **Source:** proc_pid_statm(5)."""
    return int(Path("/proc/self/statm").read_text().split()[column]) * resource.getpagesize()


def batches(jobs: "Queue[Job | None]", max_jobs: int) -> Iterator[list[Job]]:
    """Yield waiting jobs in batches of at most ``max_jobs``, until the queue contains None."""
    while (job := jobs.get()) is not None:
        batch = [job]
        while len(batch) < max_jobs and not jobs.empty():
            if (job := jobs.get()) is None:
                yield batch
                return
            batch.append(job)
        yield batch


def _receive_jobs(connection: socket.socket, jobs: "Queue[Job | None]") -> None:
    """Receive jobs in a separate thread, while this process handles other jobs."""
    try:
        with connection.makefile("rb") as stream:
            while (body := _next_message(stream)) is not None:
                jobs.put(job_decoder.decode(body))
    finally:
        jobs.put(None)  # An error above ends the process, which is then replaced.


def _next_message(stream: BinaryIO) -> bytes | None:
    """Return the next message, or None if the parent has closed the socket."""
    length = stream.read(LENGTH_BYTES)
    size = int.from_bytes(length, "big")
    body = stream.read(size)
    return body if len(length) == LENGTH_BYTES and len(body) == size else None


def _answer(connection: socket.socket, outcome: JobOutcome) -> None:
    connection.sendall(framed(outcome))


if __name__ == "__main__":
    run_worker(_image_reader)

"""A recogniser process as its parent sees it: start, send, receive, kill."""

import asyncio
import os
import socket
import subprocess
import sys

import structlog

from contracts.errors import MisconfiguredError
from recognition.protocol import (
    LENGTH_BYTES,
    MISCONFIGURED,
    Job,
    JobOutcome,
    framed,
    outcome_decoder,
)
from recognition.settings import RecognizerPoolSettings

log = structlog.get_logger()

WORKER_MODULE = "recognition.worker"
START_TIMEOUT_SECONDS = 120.0
_REAP_TIMEOUT_SECONDS = 10.0


class WorkerProcess:
    """One running recogniser process. Make it with :meth:`start`, end it with :meth:`kill`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Take a started process and the two ends of the stream to it."""
        self._process = process
        self._reader = reader
        self._writer = writer

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @classmethod
    async def start(
        cls, settings: RecognizerPoolSettings, module: str = WORKER_MODULE
    ) -> "WorkerProcess":
        """Start a process that runs ``module`` and wait until its models are loaded.

        Raises:
            MisconfiguredError: models or settings cannot work.
            OSError, asyncio.IncompleteReadError, TimeoutError: it died or hung while starting.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            # First, as nobody would end the process if this were cancelled after it is started.
            reader, writer = await asyncio.open_connection(sock=ours)
            try:
                process = _spawn(settings, module, theirs)
            except OSError:
                writer.close()
                raise
        worker = cls(process, reader, writer)
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                first = await worker.receive()
            if first.error_code == MISCONFIGURED:
                raise MisconfiguredError(first.error_message)
        except BaseException:
            await worker.kill()
            raise
        return worker

    def send(self, job: Job) -> None:
        """Give the process a job. Outcomes come in the order of the jobs.

        Does not wait: a process that hangs takes nothing, and its time-out must run all the same.
        """
        self._writer.write(framed(job))

    async def receive(self) -> JobOutcome:
        """Return the outcome of the oldest job that has none yet.

        Raises:
            OSError, asyncio.IncompleteReadError: the process died.
        """
        length = await self._reader.readexactly(LENGTH_BYTES)
        body = await self._reader.readexactly(int.from_bytes(length, "big"))
        return outcome_decoder.decode(body)

    async def kill(self) -> None:
        """End the process at once and collect it, if it can be."""
        self._process.kill()
        self._writer.close()
        try:
            await asyncio.to_thread(self._process.wait, _REAP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            # It hangs in the kernel (a driver, a file server). Another one takes its place.
            log.error("recogniser_not_collected", pid=self.pid)


def _spawn(
    settings: RecognizerPoolSettings, module: str, theirs: socket.socket
) -> subprocess.Popen[bytes]:
    # Only the engine's own fields: a command line is readable by everybody on the machine, and
    # the process's settings class may hold secrets as well.
    own = settings.model_dump_json(include=set(RecognizerPoolSettings.model_fields))
    arguments = [str(theirs.fileno()), str(os.getpid()), own]
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": str(settings.recognition_threads)},
    )

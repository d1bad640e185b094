"""Starts and kills an inference worker, sends jobs to it and receives the outcomes."""

import asyncio
import os
import socket
import subprocess
import sys
from dataclasses import dataclass

import structlog

from common.child_environment import bare_environment, proxies_without_login
from common.errors import MisconfiguredError
from recognition.settings import THREADS, RecognizerPoolSettings
from recognition.workers.protocol import (
    LENGTH_BYTES,
    MISCONFIGURED,
    Job,
    JobOutcome,
    framed,
    outcome_decoder,
)

log = structlog.get_logger()

WORKER_MODULE = "recognition.workers.worker"
START_TIMEOUT_SECONDS = 120.0
_REAP_TIMEOUT_SECONDS = 10.0
# Variables that the engine's libraries read, for threads, GPUs, caches and (for downloads from the
# hub) trusted certificates.
_LIBRARY_VARIABLES = (
    *("OMP_*", "GOMP_*", "KMP_*", "MKL_*", "OPENBLAS_*", "TBB_*", "DNNL_*", "ONEDNN_*", "NPY_*"),
    *("ORT_*", "OV_*", "OPENVINO*", "OPENCV_*", "CUDA_*", "CUDNN_*", "CUBLAS_*", "NVIDIA_*"),
    *("XDG_CACHE_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)


@dataclass(eq=False)
class WorkerProcess:
    """A running inference worker. :meth:`start` creates the worker, and :meth:`kill` ends it."""

    _process: subprocess.Popen[bytes]
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    @classmethod
    async def start(
        cls, settings: RecognizerPoolSettings, module: str = WORKER_MODULE
    ) -> "WorkerProcess":
        """Start a process that runs ``module``, and wait until its models are loaded.

        Raises:
            MisconfiguredError: the models or settings are invalid.
            OSError, asyncio.IncompleteReadError, TimeoutError: the start failed or timed out.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            # Create this before the process, which would be orphaned by a cancellation in between.
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
        """Send a job to the process. Outcomes arrive in the order of the jobs.

        The call does not wait, because the timeout must also apply if a hung process reads nothing.
        """
        self._writer.write(framed(job))

    async def receive(self) -> JobOutcome:
        """Return the outcome of the oldest job that has no outcome yet.

        Raises:
            OSError, asyncio.IncompleteReadError: the process crashed.
        """
        length = await self._reader.readexactly(LENGTH_BYTES)
        body = await self._reader.readexactly(int.from_bytes(length, "big"))
        return outcome_decoder.decode(body)

    async def kill(self) -> None:
        """Kill the process and reap it, if possible."""
        self._process.kill()
        self._writer.close()
        try:
            await asyncio.to_thread(self._process.wait, _REAP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            # The process hangs in the kernel (a driver, a file server), and will be replaced.
            log.error("inference_worker_not_reaped", pid=self.pid)


def _spawn(
    settings: RecognizerPoolSettings, module: str, theirs: socket.socket
) -> subprocess.Popen[bytes]:
    # Pass only the engine's fields: every user of the machine can read the command line, and the
    # settings may also contain secrets.
    own = settings.model_dump_json(include=set(RecognizerPoolSettings.model_fields))
    arguments = [str(theirs.fileno()), str(os.getpid()), own]
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        # Workers decode untrusted data, so their environment contains no secrets.
        env={
            **bare_environment(os.environ, *_LIBRARY_VARIABLES),
            **proxies_without_login(os.environ),
            "OMP_NUM_THREADS": str(THREADS),
        },
    )

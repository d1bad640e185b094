"""Inference workers that do not exit after a kill, or when they should."""

import asyncio
import socket
import subprocess
from typing import cast

import psutil
import pytest
from structlog.testing import capture_logs

from recognition.settings import RecognizerPoolSettings
from recognition.workers.process import WorkerProcess
from recognition.workers.protocol import Job, JobOutcome


class _Stuck:
    """A process that hangs in the kernel."""

    pid = 4711

    def __init__(self) -> None:
        self.killed = False

    def kill(self) -> None:
        self.killed = True

    def wait(self, timeout: float) -> int:
        raise subprocess.TimeoutExpired("recogniser", timeout)


async def test_a_process_that_cannot_be_collected_is_reported_and_left() -> None:
    ours, theirs = socket.socketpair()
    stuck = _Stuck()
    with theirs:
        reader, writer = await asyncio.open_connection(sock=ours)
        worker = WorkerProcess(cast("subprocess.Popen[bytes]", stuck), reader, writer)
        with capture_logs() as logs:
            await worker.kill()
        assert theirs.recv(1) == b""
    assert stuck.killed
    assert [(line["event"], line["pid"]) for line in logs] == [
        ("inference_worker_not_reaped", 4711)
    ]


async def test_one_that_gets_what_is_no_job_ends_at_once() -> None:
    worker = await WorkerProcess.start(
        RecognizerPoolSettings.model_validate({}), "tests.unit.recognition.workers.scripted_worker"
    )
    try:
        worker.send(Job(image=b"sleep 0"))
        worker.send(cast("Job", JobOutcome()))
        assert (await worker.receive()).width_px == worker.pid
        with pytest.raises(asyncio.IncompleteReadError):
            await asyncio.wait_for(worker.receive(), 30)
    finally:
        await worker.kill()


async def test_it_is_given_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "PLATESTREAM_SECRET_KEY": "secret-of-the-service",
        "AWS_SECRET_ACCESS_KEY": "secret-of-another",
        "HTTPS_PROXY": "http://user:secret-of-the-proxy@proxy.example",
    }
    of_libraries = {"OV_CPU_MAX_ISA": "AVX2", "http_proxy": "http://proxy.example"}
    for name, value in (secrets | of_libraries).items():
        monkeypatch.setenv(name, value)

    monkeypatch.setattr("recognition.workers.process.THREADS", 3)
    worker = await WorkerProcess.start(
        RecognizerPoolSettings.model_validate({}),
        "tests.unit.recognition.workers.scripted_worker",
    )
    try:
        held = psutil.Process(worker.pid).environ()
    finally:
        await worker.kill()

    assert not held.keys() & secrets.keys()
    assert "secret-of" not in str(held)
    assert not [name for name in held if name.startswith("PLATESTREAM_")]
    assert held.items() >= {**of_libraries, "OMP_NUM_THREADS": "3"}.items()
    assert "PATH" in held


async def test_a_cancelled_start_leaves_no_process() -> None:
    settings = RecognizerPoolSettings.model_validate({})
    before = psutil.Process().children()
    for steps in range(12):
        starting = asyncio.create_task(
            WorkerProcess.start(settings, "tests.unit.recognition.workers.scripted_worker")
        )
        for _ in range(steps):
            await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert psutil.Process().children() == before

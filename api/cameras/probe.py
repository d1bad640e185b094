"""Tests stream URLs before they are saved, in a separate process."""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec
import structlog

from api.errors import ApiError, ErrorCode
from common.networks import IpNetwork
from common.urls.camera_settings import CameraAddressSettings

log = structlog.get_logger()

_COMMAND: Final = (sys.executable, "-m", "ingest.probe")
_SECONDS: Final = 20.0
"""The process itself times out after 12 s. The remaining time is for starting the process."""
CONCURRENT_PROBES: Final = 2
"""Maximum number of concurrent tests per API process. Each test can use 1 GiB of memory."""
_WAITING: Final = 8
_RETRY_AFTER_SECONDS: Final = 5
_PASSED_ON: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME", "LANG")
_FAILED: Final = "The stream URL could not be tested in time, or the video cannot be decoded."


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of a stream URL test: a frame size in pixels, or an error code and message."""

    code: str | None = None
    error: str | None = None
    frame_width_px: int = 0
    frame_height_px: int = 0
    milliseconds: int = 0


@dataclass(frozen=True)
class ProbedStream:
    """Result of a stream URL test. ``image`` is the first image (JPEG), or empty."""

    result: ProbeResult
    image: bytes


class CameraProbe:
    """Tests a few stream URLs concurrently, but only one per account at a time."""

    def __init__(self, settings: CameraAddressSettings) -> None:
        """``settings`` define the allowed addresses and the trusted certificates."""
        self._environment = _environment(settings)
        self._queue = asyncio.Semaphore(CONCURRENT_PROBES)
        self._owners: set[UUID] = set()

    async def probe(self, owner_id: UUID, address: str) -> ProbedStream:
        """Test a stream URL whose syntax has been checked, and return the result.

        Raises:
            ApiError: 429, the account is already running a test, or too many tests are waiting.
        """
        if owner_id in self._owners or len(self._owners) >= _WAITING:
            raise ApiError(
                ErrorCode.RATE_LIMITED,
                "Another stream URL test is running. Only one test at a time is allowed per "
                "account.",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._owners.add(owner_id)
        try:
            async with self._queue:
                return await self._run(address)
        finally:
            self._owners.discard(owner_id)

    async def _run(self, address: str) -> ProbedStream:
        process = await asyncio.create_subprocess_exec(
            *_COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self._environment,
        )
        try:
            async with asyncio.timeout(_SECONDS):
                output, _ = await process.communicate(address.encode())
        except TimeoutError:
            output = b""
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        return _probed_stream(output, process.returncode)


def _probed_stream(output: bytes, status: int | None) -> ProbedStream:
    line, _, image = output.partition(b"\n")
    try:
        return ProbedStream(msgspec.json.decode(line, type=ProbeResult), image)
    except msgspec.MsgspecError:
        log.warning("stream_test_failed", status=status)
        return ProbedStream(ProbeResult(code="internal", error=_FAILED), b"")


def _environment(settings: CameraAddressSettings) -> Mapping[str, str]:
    """Return the environment of the process, with the rules for addresses but without secrets."""
    given = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    for variable, field in CameraAddressSettings.environment_names().items():
        given[variable] = _text(getattr(settings, field))
    return given


def _text(value: bool | str | Path | tuple[IpNetwork, ...] | None) -> str:
    """Return a setting as the text of an environment variable."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)

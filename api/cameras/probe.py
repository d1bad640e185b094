"""Tests stream URLs before they are saved, and finds cameras, in separate processes."""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

import msgspec
import structlog
from pydantic import BaseModel, ValidationError

from api.errors import ApiError, ErrorCode
from common.networks import IpNetwork
from common.urls.camera_settings import CameraAddressSettings

log = structlog.get_logger()

_SECONDS: Final = 20.0
"""The process itself times out after 12 s. The remaining time is for starting the process."""
CONCURRENT_PROBES: Final = 2
"""Maximum number of concurrent tests per API process. Each test can use 1 GiB of memory."""
_WAITING: Final = 8
_RETRY_AFTER_SECONDS: Final = 5
_PASSED_ON: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME", "LANG")
_FAILED: Final = "The stream URL could not be tested in time, or the video cannot be decoded."
_NOT_ASKED: Final = "The devices' answers could not be read in time."
_Report = TypeVar("_Report", bound=BaseModel)


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of a stream URL test (:class:`ingest.probe.ProbeReport`)."""

    code: str | None = None
    error: str | None = None
    frame_width: int | None = None
    frame_height: int | None = None
    milliseconds: int | None = None
    key_frame_seconds: float | None = None


@dataclass(frozen=True)
class ProbedStream:
    """Result of a stream URL test. ``image`` is the first image (JPEG), or empty."""

    result: ProbeResult
    image: bytes


class CameraProbe:
    """Runs a few tests and searches concurrently, but only one per account at a time."""

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
        output = await self._run_in_turn(owner_id, "ingest.probe", address.encode())
        line, _, image = output.partition(b"\n")
        try:
            return ProbedStream(msgspec.json.decode(line, type=ProbeResult), image)
        except msgspec.MsgspecError:
            return ProbedStream(ProbeResult(code="internal", error=_FAILED), b"")

    async def ask_devices(
        self, owner_id: UUID, request: BaseModel, answer: type[_Report]
    ) -> _Report:
        """Find cameras, or list the streams of one (see :mod:`ingest.onvif`).

        Raises:
            ApiError: 429, as for a test.
        """
        given = request.model_dump_json(by_alias=True).encode()
        output = await self._run_in_turn(owner_id, "ingest.onvif", given)
        try:
            return answer.model_validate_json(output)
        except ValidationError:
            failure = {"code": "internal", "error": _NOT_ASKED, "devices": [], "streams": []}
            return answer.model_validate(failure)

    async def _run_in_turn(self, owner_id: UUID, program: str, given: bytes) -> bytes:
        if owner_id in self._owners or len(self._owners) >= _WAITING:
            raise ApiError(
                ErrorCode.RATE_LIMITED,
                "Another stream URL test or camera search is running. Only one at a time is "
                "allowed per account.",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._owners.add(owner_id)
        try:
            async with self._queue:
                return await self._run(program, given)
        finally:
            self._owners.discard(owner_id)

    async def _run(self, program: str, given: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self._environment,
        )
        try:
            async with asyncio.timeout(_SECONDS):
                output, _ = await process.communicate(given)
        except TimeoutError:
            output = b""
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if process.returncode:
            log.warning("camera_process_failed", program=program, status=process.returncode)
        return output


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

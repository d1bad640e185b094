"""Looks at a camera's address before it is saved, in a process that is not this one."""

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
"""The process gives up by itself after 12; starting it takes some of the rest."""
CONCURRENT_PROBES: Final = 2
"""Probes of one API process at the same time, for all accounts; each may take 1 GiB of memory."""
_WAITING: Final = 8
_RETRY_AFTER_SECONDS: Final = 5
_PASSED_ON: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME", "LANG")
_FAILED: Final = "The stream URL could not be tested: timeout, or the video cannot be decoded."


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of a look: a size in pixels, or the reason as a word and a sentence."""

    code: str | None = None
    error: str | None = None
    frame_width_px: int = 0
    frame_height_px: int = 0
    milliseconds: int = 0


@dataclass(frozen=True)
class ProbedStream:
    """What came of a look, and the first picture (JPEG); empty where there is none."""

    result: ProbeResult
    picture: bytes


class CameraProbe:
    """Looks at addresses, a few at once and one for each owner."""

    def __init__(self, settings: CameraAddressSettings) -> None:
        """``settings`` say which addresses are allowed, and whom to trust."""
        self._environment = _environment(settings)
        self._queue = asyncio.Semaphore(CONCURRENT_PROBES)
        self._owners: set[UUID] = set()

    async def probe(self, owner_id: UUID, address: str) -> ProbedStream:
        """Return what comes of a look at an address, which was judged by its spelling.

        Raises:
            ApiError: 429, the owner has one under way or too many wait.
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
    line, _, picture = output.partition(b"\n")
    try:
        return ProbedStream(msgspec.json.decode(line, type=ProbeResult), picture)
    except msgspec.MsgspecError:
        log.warning("camera_probe_failed", status=status)
        return ProbedStream(ProbeResult(code="internal", error=_FAILED), b"")


def _environment(settings: CameraAddressSettings) -> Mapping[str, str]:
    """Return all that the process may know: of secrets nothing, and the rules as they are here."""
    given = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    for variable, field in CameraAddressSettings.environment_names().items():
        given[variable] = _text(getattr(settings, field))
    return given


def _text(value: bool | str | Path | tuple[IpNetwork, ...] | None) -> str:
    """Return a setting as the environment has it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)

"""Has the models' variants for this processor chosen before a pool's processes start."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from common.timestamps import now_ms
from recognition.settings import RecognizerPoolSettings
from recognition.variants.choice import (
    BenchmarkOutcome,
    FailedBenchmark,
    VariantChoice,
    choice_key,
    is_anything_open,
    remember_failure,
    remembered_choice,
    remembered_failure,
    this_processor,
)
from recognition.workers.process import worker_environment

log = structlog.get_logger()

BENCHMARK_MODULE = "recognition.variants.benchmark"
BENCHMARK_TIMEOUT_SECONDS = 15.0
"""It takes some two seconds of the processor; as long again where another process measures first,
and more on a busy machine. Whoever starts waits no longer, and goes on with the defaults."""

_STOP_SECONDS = 2.0
_STOPPED = (-signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGTERM)
_TRIED_LATELY = "it failed less than a day ago, and is not tried again yet"

_Known = VariantChoice | FailedBenchmark

_known_here: dict[tuple[Path, str], _Known] = {}
"""By folder and key, what this process came to: also where the folder cannot be written to, a pool
that is started again measures nothing."""


class _StoppedError(Exception):
    """The benchmark was told to end, as this process will be: it did not fail."""


async def with_variants(
    settings: RecognizerPoolSettings,
) -> tuple[RecognizerPoolSettings, VariantChoice | None]:
    """Return the settings with the models' variants that are best on this processor, and why."""
    choice = await choose_variants(settings)
    return (settings if choice is None else choice.applied(settings)), choice


async def choose_variants(settings: RecognizerPoolSettings) -> VariantChoice | None:
    """Return what is remembered of this processor; measure it where nothing is.

    None where the settings leave nothing open, and where it cannot be measured: the defaults read
    as much, at most slower.
    """
    if not is_anything_open(settings):
        return None
    folder = settings.recognition_cache_folder
    try:
        key = await asyncio.to_thread(choice_key, settings, this_processor())
    except OSError as error:  # a model is missing, which its process will say
        log.warning("variants_not_measured", error=str(error))
        return None
    known = await asyncio.to_thread(_known, folder, key)
    if known is None:
        known = await _measured_or_failed(settings, key)
        if known is not None:
            _known_here[folder, key] = known
    elif isinstance(known, FailedBenchmark):
        log.warning("variants_not_measured", error=_TRIED_LATELY)
    return known if isinstance(known, VariantChoice) else None


def _known(folder: Path, key: str) -> _Known | None:
    with suppress(ValueError):
        if (choice := remembered_choice(folder, key)) is not None:
            return choice
        failure = remembered_failure(folder, key, now_ms())
        # A younger one may be of a benchmark that still runs: ours waits for it.
        if failure is not None and now_ms() - failure.failed_ms > 1000 * BENCHMARK_TIMEOUT_SECONDS:
            return failure
    known = _known_here.get((folder, key))
    if isinstance(known, FailedBenchmark) and not known.holds(now_ms()):
        return None
    return known


async def _measured_or_failed(settings: RecognizerPoolSettings, key: str) -> _Known | None:
    try:
        outcome = await _measured(settings)
    except _StoppedError:
        return None
    except (OSError, ValueError, TimeoutError) as error:
        log.warning("variants_not_measured", error=str(error) or type(error).__name__)
        # It may have ended before it could say so itself.
        failure = FailedBenchmark(key=key, failed_ms=now_ms())
        with suppress(OSError):
            await asyncio.to_thread(remember_failure, settings.recognition_cache_folder, failure)
        return failure
    if outcome.choice is None:
        log.warning("variants_not_measured", error="; ".join(outcome.notes))
        return FailedBenchmark(key=key, failed_ms=now_ms())
    for note in outcome.notes:
        log.warning("variants_note", note=note)
    log.info("variants_measured", **outcome.choice.summary())
    return outcome.choice


async def _measured(settings: RecognizerPoolSettings) -> BenchmarkOutcome:
    # The engine's own fields only, as a worker gets them.
    own = settings.model_dump_json(include=set(RecognizerPoolSettings.model_fields))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        BENCHMARK_MODULE,
        own,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=worker_environment(settings.recognition_threads, os.environ),
    )
    try:
        async with asyncio.timeout(BENCHMARK_TIMEOUT_SECONDS):
            said, errors = await process.communicate()
    except asyncio.CancelledError:
        # Stopped, not failed: it forgets that it began.
        process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        raise
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode in _STOPPED:
        raise _StoppedError
    if process.returncode:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        raise ValueError(f"the benchmark ended with {process.returncode}: {' '.join(last)}")
    return msgspec.json.decode(said, type=BenchmarkOutcome)

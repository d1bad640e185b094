"""Has the models' variants for this processor chosen before a pool's processes start."""

import asyncio
import os
import sys

import msgspec
import structlog

from recognition.settings import RecognizerPoolSettings
from recognition.variants.choice import (
    BenchmarkOutcome,
    VariantChoice,
    choice_here,
    is_anything_open,
)
from recognition.workers.process import worker_environment

log = structlog.get_logger()

BENCHMARK_MODULE = "recognition.variants.benchmark"
BENCHMARK_TIMEOUT_SECONDS = 60.0
"""It takes some two seconds of the processor; as long again where another process measures first,
and more on a busy machine."""


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
    known = await asyncio.to_thread(choice_here, settings)
    if known is not None:
        return known
    try:
        async with asyncio.timeout(BENCHMARK_TIMEOUT_SECONDS):
            outcome = await _measured(settings)
    except (OSError, ValueError, TimeoutError) as error:
        log.warning("variants_not_measured", error=str(error) or type(error).__name__)
        return None
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
        said, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        raise ValueError(f"the benchmark ended with {process.returncode}: {' '.join(last)}")
    return msgspec.json.decode(said, type=BenchmarkOutcome)

"""The variant of each model that takes the least processor time here, as it is remembered.

Measured by :mod:`recognition.variants.benchmark` in a process of its own, at the first start.
"""

import hashlib
import json
import os
import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec

from recognition.settings import (
    DETECTORS,
    DetectorNumbers,
    Precision,
    RecognizerPoolSettings,
    RecognizerSettings,
    RuntimeName,
)

FILE_NAME: Final = "variants.json"
_SCHEMA: Final = 1
_MAX_CHOICES: Final = 16
_MAX_BYTES: Final = 65_536

RETRY_AFTER_MS: Final = 24 * 3_600_000
"""A benchmark that failed is not tried again earlier, for the same key."""

_MEASURED_PACKAGES: Final = ("openvino", "onnxruntime", "numpy")
_OF_KERNELS: Final = ("ONEDNN_", "DNNL_", "OV_")
"""Beginnings of variables that bound what the runtimes use of a processor."""

_CPU_INFO: Final = Path("/proc/cpuinfo")
_NAMES_OF_FLAGS: Final = ("flags", "Features")
"""On x86 and on ARM. **Source:** proc_cpuinfo(5)."""


class Processor(msgspec.Struct, frozen=True):
    """What kernels depend on: the processor's name and what it can do."""

    name: str
    flags: tuple[str, ...]

    @property
    def computes_bf16(self) -> bool:
        """It has instructions for bf16, or is one of those for which a runtime emulates it."""
        return any("bf16" in flag or flag == "avx512f" for flag in self.flags)


class VariantChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What was chosen, and the milliseconds of processor time that each variant took.

    ``detector_ms`` is for one image of 1080p, ``reader_ms`` for one crop. One that is empty was not
    to be chosen: the settings name it, or a file of the user.
    """

    key: str
    processor: str
    detector: DetectorNumbers
    reader_precision: Precision
    detector_ms: dict[str, float]
    reader_ms: dict[str, float]
    cpu_seconds: float
    measured_ms: int

    def applied(self, settings: RecognizerPoolSettings) -> RecognizerPoolSettings:
        """Return the settings with what they leave open as it was chosen."""
        chosen = {
            "recognition_detector": self.detector,
            "recognition_reader_precision": self.reader_precision,
        }
        is_open = {name: getattr(settings, name) == "auto" for name in chosen}
        return settings.model_copy(
            update={name: value for name, value in chosen.items() if is_open[name]}
        )

    def summary(self) -> dict[str, object]:
        """Return it as operators see it: of what was not measured, nothing."""
        said: dict[str, object] = {}
        if self.detector_ms:
            said |= {"detector": self.detector.value, "detectorMs": self.detector_ms}
        if self.reader_ms:
            said |= {"readerPrecision": self.reader_precision.value, "readerMs": self.reader_ms}
        return said | {
            "cpuSeconds": self.cpu_seconds,
            "measuredAt": self.measured_ms,
            "processor": self.processor,
        }

    def sentence(self) -> str:
        """Return it in one line."""
        parts = list[str]()
        if self.detector_ms:
            parts.append(f"detector {self.detector} ({_times(self.detector_ms)} an image)")
        if self.reader_ms:
            parts.append(f"reader {self.reader_precision} ({_times(self.reader_ms)} a crop)")
        return f"{', '.join(parts)}, processor time measured on {self.processor}"


class FailedBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark that came to no end, or to none in time."""

    key: str
    failed_ms: int

    def holds(self, at_ms: int) -> bool:
        """Return whether it is too early to try again; not where the clock was set back."""
        return 0 <= at_ms - self.failed_ms < RETRY_AFTER_MS


class BenchmarkOutcome(msgspec.Struct, frozen=True):
    """What a benchmark chose, None where it failed, and sentences that an operator should hear."""

    choice: VariantChoice | None
    notes: tuple[str, ...] = ()


class _Remembered(msgspec.Struct, frozen=True, kw_only=True):
    schema: int
    choices: tuple[VariantChoice, ...]
    failures: tuple[FailedBenchmark, ...] = ()


_NOTHING: Final = _Remembered(schema=_SCHEMA, choices=())


def asks_detector(settings: RecognizerSettings) -> bool:
    """Return whether the detector is to be chosen: one of ours on a processor, none named."""
    return (
        settings.runs_on_cpu
        and settings.recognition_detector_model is None
        and settings.recognition_detector is DetectorNumbers.AUTO
    )


def asks_precision(settings: RecognizerSettings, processor: Processor) -> bool:
    """Return whether the readers' number format is to be chosen, and the detector's with it."""
    is_own = (
        settings.recognition_reader_model is None and settings.recognition_reader_hub_model is None
    )
    return (
        is_own
        and settings.runs_on_cpu
        and settings.recognition_runtime is RuntimeName.OPENVINO
        and settings.recognition_reader_precision is Precision.AUTO
        and processor.computes_bf16
    )


def is_anything_open(settings: RecognizerSettings) -> bool:
    """Return whether the settings leave anything to be chosen on this processor."""
    return asks_detector(settings) or asks_precision(settings, this_processor())


def this_processor(cpu_info: Path = _CPU_INFO) -> Processor:
    """Return what the kernel says of the first processor; of others' too little to choose by."""
    fields: dict[str, str] = {}
    try:
        for line in cpu_info.read_text().splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    flags = next((fields[name] for name in _NAMES_OF_FLAGS if name in fields), "")
    parts = [fields.get(name, "") for name in ("model name", "cpu family", "model", "CPU part")]
    name = " ".join(part for part in parts if part) or platform.machine()
    return Processor(name, tuple(sorted(set(flags.split()))))


def choice_key(settings: RecognizerSettings, processor: Processor) -> str:
    """Return what a choice holds for: processor, libraries, models and settings, as one sum."""
    paths = (*DETECTORS.values(), settings.reader_path)
    said = {
        "processor": [processor.name, *processor.flags],
        "packages": {name: _version(name) for name in _MEASURED_PACKAGES},
        "models": [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths],
        "asked": [asks_detector(settings), asks_precision(settings, processor)],
        "settings": [
            str(settings.recognition_runtime),
            settings.recognition_providers,
            settings.recognition_threads,
            str(settings.recognition_detector_precision),
            str(settings.recognition_reader_precision),
            settings.recognition_input_size,
        ],
        "environment": {
            name: value for name, value in os.environ.items() if name.startswith(_OF_KERNELS)
        },
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def remembered_choice(folder: Path, key: str) -> VariantChoice | None:
    """Return what was chosen for a key; None where nothing was.

    Raises:
        ValueError: the file is none that this release wrote.
    """
    return next((one for one in _remembered(folder).choices if one.key == key), None)


def remembered_failure(folder: Path, key: str, at_ms: int) -> FailedBenchmark | None:
    """Return what failed for a key so lately that it is not tried again; None where nothing did.

    Raises:
        ValueError: the file is none that this release wrote.
    """
    failures = _remembered(folder).failures
    return next((one for one in failures if one.key == key and one.holds(at_ms)), None)


def remember_choice(folder: Path, choice: VariantChoice) -> None:
    """Write a choice beside those for other keys, at once or not at all; no failure of its stays.

    Raises:
        OSError: the folder cannot be written to.
    """
    found = _without_failure(folder, choice.key)
    others = (one for one in found.choices if one.key != choice.key)
    _write(folder, (*others, choice), found.failures)


def remember_failure(folder: Path, failure: FailedBenchmark) -> None:
    """Write, at once or not at all, that a benchmark failed; not where there is a choice.

    Raises:
        OSError: the folder cannot be written to.
    """
    found = _without_failure(folder, failure.key)
    if all(one.key != failure.key for one in found.choices):
        _write(folder, found.choices, (*found.failures, failure))


def forget_failure(folder: Path, key: str) -> None:
    """Write, at once or not at all, that no benchmark failed for a key.

    Raises:
        OSError: the folder cannot be written to.
    """
    found = _without_failure(folder, key)
    _write(folder, found.choices, found.failures)


def _without_failure(folder: Path, key: str) -> _Remembered:
    try:
        found = _remembered(folder)
    except ValueError:
        found = _NOTHING
    return _Remembered(
        schema=_SCHEMA,
        choices=found.choices,
        failures=tuple(one for one in found.failures if one.key != key),
    )


def _write(
    folder: Path, choices: tuple[VariantChoice, ...], failures: tuple[FailedBenchmark, ...]
) -> None:
    kept = _Remembered(
        schema=_SCHEMA, choices=choices[-_MAX_CHOICES:], failures=failures[-_MAX_CHOICES:]
    )
    data = msgspec.json.encode(kept)
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(data, indent=1))
        os.replace(name, folder / FILE_NAME)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def choice_here(settings: RecognizerPoolSettings) -> VariantChoice | None:
    """Return what is remembered for this processor and these settings, without measuring.

    None where nothing is to be chosen, or was yet, or can be read.
    """
    if not is_anything_open(settings):
        return None
    try:
        key = choice_key(settings, this_processor())
        return remembered_choice(settings.recognition_cache_folder, key)
    except (OSError, ValueError):
        return None


def _remembered(folder: Path) -> _Remembered:
    try:
        with (folder / FILE_NAME).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return _NOTHING
    if len(data) > _MAX_BYTES:
        raise ValueError("it is too large")
    try:
        found = msgspec.json.decode(data, type=_Remembered)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    if found.schema != _SCHEMA:
        raise ValueError(f"its schema is {found.schema}")
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _times(times_ms: dict[str, float]) -> str:
    return ", ".join(f"{name} {ms:.1f} ms" for name, ms in times_ms.items())

"""Measures which variant of each model takes the least processor time here, once a machine.

    python -m recognition.variants.benchmark SETTINGS

A process of its own, as each variant leaves some 30 MB behind. Prints :class:`BenchmarkOutcome` in
JSON. Of several that share a folder one measures, the others wait for it and take what it found,
also that it failed. Measured is time of the processor, not of the clock: other work on the machine
changes it less, and changes it for all variants, which take turns.
"""

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import numpy as np

from common.errors import MisconfiguredError
from common.timestamps import now_ms
from recognition.detection.detector import USUAL_IMAGE_PX
from recognition.detection.input_sizing import InputSizing
from recognition.models.model_card import DetectorCard, ReaderCard, load_card
from recognition.models.runtime import Model, Tensor, load_for_one_size
from recognition.models.tensors import to_tensor
from recognition.settings import (
    DETECTORS,
    DetectorNumbers,
    Precision,
    RecognizerPoolSettings,
    RecognizerSettings,
)
from recognition.variants.choice import (
    BenchmarkOutcome,
    FailedBenchmark,
    VariantChoice,
    asks_detector,
    asks_precision,
    choice_key,
    forget_failure,
    remember_choice,
    remember_failure,
    remembered_choice,
    remembered_failure,
    this_processor,
)

MAX_CPU_SECONDS: Final = 2.0
"""Beside the start of the process, which takes half a second. Where it does not suffice for both
variants of a model, neither is measured, and the default stays for a day."""

MIN_GAIN: Final = 0.1
"""Of the default's time: a variant that saves less is not worth another reading here and there."""

_MIN_ROUNDS, _ROUNDS = 2, 4
_DEFAULT_LOADS_LONGER: Final = 1.5
"""Than the other one: convolutions of 8 bits are prepared in 1.0 s, floats in 0.4."""

_DETECTORS: Final = (DetectorNumbers.INT8, DetectorNumbers.FLOAT)
_PRECISIONS: Final = (Precision.BF16, Precision.F32)
"""The default first."""

STOPPED: Final = 128 + signal.SIGTERM
"""Exit status of one that was told to end: it did not fail."""

_LOCK_NAME: Final = "variants.lock"

V = TypeVar("V")

CpuClock = Callable[[], float]
Load = Callable[[], tuple[Model, Tensor]]


def main() -> None:
    """Measure, or take what another process has just measured, and print it."""
    answer = os.dup(sys.stdout.fileno())
    # What the runtimes say of themselves (ONEDNN_VERBOSE) is no part of the answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))
    settings = RecognizerPoolSettings(**json.loads(sys.argv[1]))
    os.nice(5)
    with os.fdopen(answer, "wb") as file:
        file.write(msgspec.json.encode(choose_once(settings)))


def choose_once(
    settings: RecognizerPoolSettings,
    measure: Callable[[RecognizerPoolSettings, str], VariantChoice] | None = None,
) -> BenchmarkOutcome:
    """Return what is remembered of this processor, or measure and remember it.

    Remembered as failed until it is done: whatever ends the process, no other one tries at once.

    Raises:
        MisconfiguredError: a model that comes with the service cannot be loaded.
    """
    folder, key = settings.recognition_cache_folder, choice_key(settings, this_processor())
    with _locked(folder) as fault:
        notes = list[str]()
        try:
            if (known := remembered_choice(folder, key)) is not None:
                return BenchmarkOutcome(known)
        except ValueError as error:
            notes.append(f"what {folder} holds is none of this release: {error}")
        if fault is not None:
            notes.append(f"it cannot be remembered: {fault}")
            choice = (measure or measured_choice)(settings, key)
            return _outcome(choice, settings, notes)
        with suppress(ValueError):
            if remembered_failure(folder, key, now_ms()) is not None:
                return BenchmarkOutcome(None, ("another process tried, and failed",))
        failure = FailedBenchmark(key=key, failed_ms=now_ms())
        is_kept = _is_kept(notes, lambda: remember_failure(folder, failure))
        try:
            choice = (measure or measured_choice)(settings, key)
        except (KeyboardInterrupt, SystemExit):
            with suppress(OSError):
                forget_failure(folder, key)
            raise
        if is_kept and _is_complete(choice, settings):
            _is_kept(notes, lambda: remember_choice(folder, choice))
    return _outcome(choice, settings, notes)


def _outcome(
    choice: VariantChoice, settings: RecognizerPoolSettings, notes: list[str]
) -> BenchmarkOutcome:
    if _is_complete(choice, settings):
        return BenchmarkOutcome(choice, tuple(notes))
    late = "the processor is too slow or busy to measure its variants in time"
    return BenchmarkOutcome(None, (*notes, late))


def _is_kept(notes: list[str], write: Callable[[], None]) -> bool:
    try:
        write()
    except OSError as error:
        notes.append(f"it cannot be remembered: {error}")
        return False
    return True


def _is_complete(choice: VariantChoice, settings: RecognizerPoolSettings) -> bool:
    """Return whether all that is open was measured."""
    return bool(choice.detector_ms or not asks_detector(settings)) and bool(
        choice.reader_ms or not asks_precision(settings, this_processor())
    )


def measured_choice(settings: RecognizerPoolSettings, key: str) -> VariantChoice:
    """Measure the variants that the settings leave open.

    Raises:
        MisconfiguredError: a model that comes with the service cannot be loaded.
    """
    until = time.process_time() + MAX_CPU_SECONDS
    processor = this_processor()
    detector_ms, reader_ms = dict[DetectorNumbers, float](), dict[Precision, float]()
    if asks_precision(settings, processor):
        # First: floats of the detector are measured in what is quicker.
        readers = {precision: _reader(settings, precision) for precision in _PRECISIONS}
        reader_ms = least_cpu_ms(readers, until)
    precision = best_of(reader_ms, settings.recognition_reader_precision)
    if asks_detector(settings):
        chosen = settings.model_copy(update={"recognition_reader_precision": precision})
        floats = chosen.detector_precision
        loads = {numbers: _detector(settings, numbers, floats) for numbers in _DETECTORS}
        detector_ms = least_cpu_ms(loads, until)
    return VariantChoice(
        key=key,
        processor=processor.name,
        detector=best_of(detector_ms, settings.detector_numbers),
        reader_precision=precision,
        detector_ms={numbers.value: ms for numbers, ms in detector_ms.items()},
        reader_ms={numbers.value: ms for numbers, ms in reader_ms.items()},
        cpu_seconds=round(time.process_time() - until + MAX_CPU_SECONDS, 2),
        measured_ms=now_ms(),
    )


def least_cpu_ms(
    loads: Mapping[V, Load], until: float, clock: CpuClock = time.process_time
) -> dict[V, float]:
    """Return the least milliseconds of processor time of each variant; none where time is short.

    ``loads`` has the default first, which is loaded last: it takes longest. ``until`` is when the
    clock says that no time is left.
    """
    started = clock()
    *others, default = reversed(list(loads))
    ready = {variant: _prepared(loads[variant]) for variant in others}
    if clock() + _DEFAULT_LOADS_LONGER * (clock() - started) > until:
        return {}
    ready[default] = _prepared(loads[default])
    times_ms: dict[V, list[float]] = {variant: [] for variant in loads}
    for done in range(_ROUNDS):
        if done >= _MIN_ROUNDS and clock() > until:
            break
        for variant in loads:
            model, tensor = ready[variant]
            before = clock()
            model.run(tensor)
            times_ms[variant].append((clock() - before) * 1000)
    return {variant: round(min(times), 2) for variant, times in times_ms.items()}


def _prepared(load: Load) -> tuple[Model, Tensor]:
    model, tensor = load()
    model.run(tensor)
    return model, tensor


def best_of(times_ms: Mapping[V, float], default: V) -> V:
    """Return the quickest variant, or the first one where none saves a tenth of its time.

    ``default`` where nothing was measured.
    """
    if not times_ms:
        return default
    first, best = next(iter(times_ms)), min(times_ms, key=times_ms.__getitem__)
    return best if times_ms[best] <= (1 - MIN_GAIN) * times_ms[first] else first


def _detector(settings: RecognizerSettings, numbers: DetectorNumbers, precision: Precision) -> Load:
    def load() -> tuple[Model, Tensor]:
        path = DETECTORS[numbers]
        card = load_card(DetectorCard, path).input
        tensor = to_tensor([_noise(*InputSizing(card, settings).size_px(*USUAL_IMAGE_PX))], card)
        return load_for_one_size(path, settings, precision, tensor.shape), tensor

    return load


def _reader(settings: RecognizerSettings, precision: Precision) -> Load:
    def load() -> tuple[Model, Tensor]:
        path = settings.reader_path
        card = load_card(ReaderCard, path).input
        tensor = to_tensor([_noise(card.width, card.height)], card)
        return load_for_one_size(path, settings, precision, tensor.shape), tensor

    return load


def _noise(width: int, height: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)


@contextmanager
def _locked(folder: Path) -> Iterator[OSError | None]:
    """Hold the folder's lock, which ends with the process; yield why there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        yield error
        return
    fault: OSError | None = None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:  # not every file system has locks (ENOLCK)
            fault = error
        yield fault
    finally:
        os.close(lock)


if __name__ == "__main__":
    try:
        main()
    except MisconfiguredError as error:
        sys.exit(str(error))

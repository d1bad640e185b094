"""How variants are measured, and that it is done once."""

import errno
import fcntl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.timestamps import now_ms
from recognition.models.runtime import Tensor
from recognition.settings import DetectorNumbers, Precision, RecognizerPoolSettings
from recognition.variants import benchmark as module
from recognition.variants.benchmark import (
    Load,
    best_of,
    choose_once,
    least_cpu_ms,
    measured_choice,
)
from recognition.variants.choice import (
    FILE_NAME,
    RETRY_AFTER_MS,
    VariantChoice,
    choice_key,
    remembered_choice,
    remembered_failure,
)
from tests.unit.recognition.variants.test_choice import AVX2, BF16, choice_of, settings_of


class _Clock:
    """A processor's time, in seconds."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds

    def load(self, load_seconds: float, *run_seconds: float) -> Load:
        """A variant that takes so long to load, and then so long for each run in turn."""
        runs = iter((*run_seconds, *[run_seconds[-1]] * 100))

        class Model:
            def run(_, tensor: Tensor) -> dict[str, Tensor]:  # noqa: N805 - the clock is self
                self.seconds += next(runs)
                return {}

        def load() -> tuple[Model, Tensor]:
            self.seconds += load_seconds
            return Model(), np.zeros(1)

        return load


def test_the_least_time_of_each_counts_without_the_first_run() -> None:
    clock = _Clock()
    loads = {
        "int8": clock.load(0.2, 5e-3, 0.04, 0.03, 0.05),
        "float": clock.load(0.1, 0.2, 0.08, 0.06, 0.07),
    }
    assert least_cpu_ms(loads, clock() + 2, clock) == {"int8": 30.0, "float": 60.0}


def test_a_slow_processor_measures_nothing() -> None:
    clock = _Clock()
    loads = {"int8": clock.load(3.0, 1.0), "float": clock.load(0.9, 0.1)}
    assert least_cpu_ms(loads, clock() + 2, clock) == {}
    assert clock() == pytest.approx(101.0)


def test_time_that_runs_out_ends_the_rounds() -> None:
    clock = _Clock()
    loads = {"int8": clock.load(0.3, 0.3), "float": clock.load(0.1, 0.3)}
    assert least_cpu_ms(loads, clock() + 2, clock) == {"int8": 300.0, "float": 300.0}
    assert clock() < 102.5


@pytest.mark.parametrize(
    ("times_ms", "best"),
    [
        ({}, "default"),
        ({"int8": 40.0, "float": 80.0}, "int8"),
        ({"int8": 40.0, "float": 37.0}, "int8"),
        ({"int8": 40.0, "float": 35.9}, "float"),
    ],
)
def test_the_default_stays_where_a_tenth_is_not_saved(
    times_ms: dict[str, float], best: str
) -> None:
    assert best_of(times_ms, "default") == best


class _Measured:
    """Counts how often it is measured; one that does waits until others could have begun."""

    def __init__(self, wait: Callable[[], object] = lambda: None, **fields: object) -> None:
        self.times = 0
        self._wait, self._fields = wait, fields

    def __call__(self, settings: RecognizerPoolSettings, key: str) -> VariantChoice:
        self.times += 1
        self._wait()
        return choice_of(key, **self._fields)


@pytest.fixture(autouse=True)
def avx2_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs the tests: only the detector is open."""
    monkeypatch.setattr(module, "this_processor", lambda: AVX2)


@pytest.mark.parametrize(
    ("fields", "reader_ms", "expected"),
    [
        ({}, {"bf16": 5.0, "f32": 3.0}, ("f32", "f32")),
        ({}, {"bf16": 3.0, "f32": 5.0}, ("bf16", "bf16")),
        ({}, {}, ("auto", "auto")),
        ({"detector_precision": "bf16"}, {"bf16": 5.0, "f32": 3.0}, ("bf16", "f32")),
    ],
)
def test_floats_are_in_what_the_reader_is_quicker_in(
    fields: dict[str, str],
    reader_ms: dict[str, float],
    expected: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        {Precision(name): ms for name, ms in reader_ms.items()},
        {DetectorNumbers.INT8: 9.0, DetectorNumbers.FLOAT: 4.0},
    ]
    monkeypatch.setattr(module, "this_processor", lambda: BF16)
    monkeypatch.setattr(module, "least_cpu_ms", lambda *_: found.pop(0))
    formats = set[str]()
    monkeypatch.setattr(module, "_detector", lambda _, __, floats: formats.add(floats))
    choice = measured_choice(settings_of(**fields), "key")
    assert (*formats, choice.reader_precision) == expected
    applied = choice.applied(settings_of(**fields))
    assert applied.detector_precision == expected[0], "it runs as it was measured"
    assert choice.detector is DetectorNumbers.FLOAT
    assert choice.detector_ms == {"int8": 9.0, "float": 4.0}


@pytest.mark.parametrize("fields", [{}, {"detector_ms": {}}])
def test_what_was_measured_in_part_is_a_failure_that_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    monkeypatch.setattr(module, "this_processor", lambda: BF16)
    settings = settings_of(cache_folder=tmp_path)
    key = choice_key(settings, BF16)
    outcome = choose_once(settings, _Measured(**fields))
    assert outcome.choice is None
    assert len(outcome.notes) == 1
    assert remembered_choice(tmp_path, key) is None
    again = _Measured(reader_ms={"bf16": 1.0, "f32": 2.0})
    assert choose_once(settings, again).choice is None
    assert again.times == 0
    monkeypatch.setattr(module, "now_ms", lambda: now_ms() + RETRY_AFTER_MS)
    assert choose_once(settings, again).choice == remembered_choice(tmp_path, key)
    assert again.times == 1
    assert remembered_failure(tmp_path, key, now_ms()) is None


def test_one_that_waited_for_another_that_was_ended_does_not_measure(tmp_path: Path) -> None:
    """A process that is killed says nothing: what it wrote at its beginning stays."""

    class Killed(BaseException):
        pass

    def killed() -> None:
        raise Killed

    settings = settings_of(cache_folder=tmp_path)
    with pytest.raises(Killed):
        choose_once(settings, _Measured(killed))
    waiting = _Measured()
    assert choose_once(settings, waiting).choice is None
    assert waiting.times == 0


def test_one_that_was_told_to_stop_did_not_fail(tmp_path: Path) -> None:
    def stopped() -> None:
        raise SystemExit

    settings = settings_of(cache_folder=tmp_path)
    with pytest.raises(SystemExit):
        choose_once(settings, _Measured(stopped))
    assert choose_once(settings, _Measured()).choice is not None


def test_a_folder_without_locks_is_one_that_remembers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    settings = settings_of(cache_folder=tmp_path)
    measured = _Measured()
    for times in (1, 2):
        outcome = choose_once(settings, measured)
        assert measured.times == times
        assert outcome.choice is not None
        (note,) = outcome.notes
        assert "No locks available" in note


def test_it_is_measured_once(tmp_path: Path) -> None:
    measured = _Measured()
    settings = settings_of(cache_folder=tmp_path)
    first, second = (choose_once(settings, measured) for _ in range(2))
    assert (first, measured.times) == (second, 1)
    assert first.notes == ()
    choose_once(settings_of(cache_folder=tmp_path, threads=2), measured)
    assert measured.times == 2


def test_two_that_start_at_once_measure_once(tmp_path: Path) -> None:
    second_began = threading.Event()
    measured = _Measured(lambda: second_began.wait(30))
    settings = settings_of(cache_folder=tmp_path)

    def later() -> VariantChoice | None:
        second_began.set()
        return choose_once(settings, measured).choice

    with ThreadPoolExecutor(2) as executor:
        one = executor.submit(choose_once, settings, measured)
        assert executor.submit(later).result() == one.result().choice
    assert measured.times == 1


def test_a_foreign_file_is_named_once_and_written_over(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("a shopping list")
    settings = settings_of(cache_folder=tmp_path)
    outcome = choose_once(settings, _Measured())
    (note,) = outcome.notes
    assert str(tmp_path) in note
    assert outcome.choice is not None
    assert remembered_choice(tmp_path, outcome.choice.key) == outcome.choice
    assert choose_once(settings, _Measured()).notes == ()


def test_a_folder_that_cannot_be_made_costs_a_measurement_each_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = settings_of(cache_folder=tmp_path / "file" / "below")
    measured = _Measured()
    for times in (1, 2):
        outcome = choose_once(settings, measured)
        assert measured.times == times
        assert len(outcome.notes) == 1
        assert outcome.choice is not None

"""What is remembered of a processor, and when it holds."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from recognition.settings import DETECTORS, DetectorNumbers, Precision, RecognizerPoolSettings
from recognition.variants import choice as module
from recognition.variants.choice import (
    FILE_NAME,
    RETRY_AFTER_MS,
    FailedBenchmark,
    Processor,
    VariantChoice,
    asks_detector,
    asks_precision,
    choice_here,
    choice_key,
    forget_failure,
    remember_choice,
    remember_failure,
    remembered_choice,
    remembered_failure,
    this_processor,
)

AVX2 = Processor("AMD EPYC 25 1", ("avx2", "fma"))
BF16 = Processor("Xeon 6 143", ("avx2", "avx512_bf16", "avx512f"))


def settings_of(**fields: Any) -> RecognizerPoolSettings:
    return RecognizerPoolSettings.model_validate(
        {f"recognition_{name}": value for name, value in fields.items()}
    )


def choice_of(key: str = "a", **fields: Any) -> VariantChoice:
    values: dict[str, Any] = {
        "processor": "AMD EPYC 25 1",
        "detector": DetectorNumbers.FLOAT,
        "reader_precision": Precision.F32,
        "detector_ms": {"int8": 40.0, "float": 30.0},
        "reader_ms": {},
        "cpu_seconds": 1.5,
        "measured_ms": 1,
    }
    return VariantChoice(key=key, **(values | fields))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
            "flags\t\t: fma avx2 fma\n\nprocessor\t: 1\nflags\t\t: other\n",
            Processor("AMD EPYC 25 1", ("avx2", "fma")),
        ),
        (
            "processor\t: 0\nFeatures\t: fp asimd bf16\nCPU part\t: 0xd40\n",
            Processor("0xd40", ("asimd", "bf16", "fp")),
        ),
    ],
)
def test_a_processor_is_known_by_its_name_and_flags(
    tmp_path: Path, said: str, expected: Processor
) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(said)
    assert this_processor(path) == expected


def test_a_kernel_that_says_nothing_leaves_the_machine(tmp_path: Path) -> None:
    found = this_processor(tmp_path / "none")
    assert found.name
    assert found.flags == ()


def test_another_processor_release_setting_or_bound_is_another_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = settings_of()
    keys = [
        choice_key(settings, AVX2),
        choice_key(settings, Processor(AVX2.name, (*AVX2.flags, "avx_vnni"))),
        choice_key(settings, Processor("another", AVX2.flags)),
        choice_key(settings_of(threads=2), AVX2),
        choice_key(settings_of(runtime="onnxruntime"), AVX2),
        choice_key(settings_of(input_size=416), AVX2),
    ]
    assert choice_key(settings_of(workers=3), AVX2) == keys[0]
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
    keys.append(choice_key(settings, AVX2))
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    monkeypatch.setattr(module, "version", lambda _: "1.0")
    keys.append(choice_key(settings, AVX2))
    assert len(set(keys)) == len(keys)


def test_other_models_are_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = choice_key(settings_of(), AVX2)
    model = tmp_path / "other.onnx"
    model.write_bytes(b"another")
    files = {**DETECTORS, DetectorNumbers.FLOAT: model}
    monkeypatch.setattr(module, "DETECTORS", files)
    assert choice_key(settings_of(), AVX2) != before


@pytest.mark.parametrize(
    ("fields", "detector", "precision"),
    [
        ({}, True, True),
        ({"detector": "int8"}, False, True),
        ({"detector": "float", "reader_precision": "f32"}, False, False),
        ({"detector_model": "own.onnx"}, False, True),
        ({"reader_model": "own.onnx"}, True, False),
        ({"reader_hub_model": "cct-s-v2-global-model"}, True, False),
        ({"runtime": "onnxruntime"}, True, False),
        ({"providers": "CUDAExecutionProvider"}, False, False),
    ],
)
def test_only_what_the_settings_leave_open_is_chosen(
    fields: dict[str, str], detector: bool, precision: bool
) -> None:
    settings = settings_of(**fields)
    assert (asks_detector(settings), asks_precision(settings, BF16)) == (detector, precision)
    assert not asks_precision(settings, AVX2)


def test_a_choice_fills_what_is_open_and_leaves_what_is_set() -> None:
    choice = choice_of()
    open_ = choice.applied(settings_of())
    assert open_.recognition_detector is DetectorNumbers.FLOAT
    assert open_.detector_path.name == "plate-detector-float.onnx"
    assert open_.recognition_reader_precision is Precision.F32
    held = choice.applied(settings_of(detector="int8", reader_precision="bf16"))
    assert held.recognition_detector is DetectorNumbers.INT8
    assert held.recognition_reader_precision is Precision.BF16
    assert held.detector_precision is Precision.BF16


def test_what_is_remembered_is_found_by_its_key(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    remember_choice(folder, choice_of("a"))
    remember_choice(folder, choice_of("b"))
    remember_choice(folder, choice_of("a", cpu_seconds=2.0))
    found = remembered_choice(folder, "a")
    assert found is not None
    assert found.cpu_seconds == 2.0
    assert remembered_choice(folder, "b") == choice_of("b")
    assert remembered_choice(folder, "c") is None
    assert [path.name for path in folder.iterdir()] == [FILE_NAME]


def test_old_keys_leave_in_the_end(tmp_path: Path) -> None:
    for number in range(20):
        remember_choice(tmp_path, choice_of(str(number)))
    assert remembered_choice(tmp_path, "0") is None
    assert remembered_choice(tmp_path, "19") is not None


def test_a_failure_holds_for_a_day_and_never_hides_a_choice(tmp_path: Path) -> None:
    def is_failed(at_ms: int) -> bool:
        return remembered_failure(tmp_path, "a", at_ms) is not None

    remember_choice(tmp_path, choice_of("b"))
    remember_failure(tmp_path, FailedBenchmark(key="a", failed_ms=1_000))
    assert [is_failed(at) for at in (999, 1_000, 999 + RETRY_AFTER_MS)] == [False, True, True]
    assert not is_failed(1_000 + RETRY_AFTER_MS)
    assert remembered_failure(tmp_path, "b", 1_000) is None
    forget_failure(tmp_path, "a")
    assert not is_failed(1_000)
    remember_failure(tmp_path, FailedBenchmark(key="a", failed_ms=1_000))
    remember_choice(tmp_path, choice_of("a"))
    assert not is_failed(1_000)
    remember_failure(tmp_path, FailedBenchmark(key="a", failed_ms=1_000))
    forget_failure(tmp_path, "a")
    assert not is_failed(1_000)
    assert remembered_choice(tmp_path, "a") == choice_of("a")
    assert remembered_choice(tmp_path, "b") == choice_of("b")


GARBAGE = [
    b"",
    b"\x00\xff",
    b"[1, 2]",
    b'{"schema": 1}',
    b'{"schema": 2, "choices": []}',
    b" " * 70_000,
    msgspec.json.encode({"schema": 1, "choices": [{"key": "a", "detector": "quantum"}]}),
]


@pytest.mark.parametrize("content", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_choice_is_refused_and_written_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(ValueError, match="."):
        remembered_choice(tmp_path, "a")
    remember_choice(tmp_path, choice_of("a"))
    assert remembered_choice(tmp_path, "a") == choice_of("a")


def test_without_measuring_nothing_fails(tmp_path: Path) -> None:
    settings = settings_of(cache_folder=tmp_path)
    assert choice_here(settings) is None
    (tmp_path / FILE_NAME).write_bytes(b"garbage")
    assert choice_here(settings) is None
    choice = choice_of(choice_key(settings, this_processor()))
    remember_choice(tmp_path, choice)
    assert choice_here(settings) == choice
    assert (
        choice_here(settings_of(cache_folder=tmp_path, detector="int8", runtime="onnxruntime"))
        is None
    )


def test_operators_read_it_in_a_line() -> None:
    line = choice_of(reader_ms={"bf16": 2.0, "f32": 1.5}).sentence()
    assert line == (
        "detector float (int8 40.0 ms, float 30.0 ms an image), reader f32 (bf16 2.0 ms, "
        "f32 1.5 ms a crop), processor time measured on AMD EPYC 25 1"
    )
    assert choice_of().summary()["detectorMs"] == {"int8": 40.0, "float": 30.0}


def test_operators_read_nothing_of_what_was_not_measured() -> None:
    """The detector is named, or a file of the user; or the reader is."""
    only_reader = choice_of(
        detector=DetectorNumbers.INT8, detector_ms={}, reader_ms={"bf16": 2.0, "f32": 1.5}
    )
    assert only_reader.sentence() == (
        "reader f32 (bf16 2.0 ms, f32 1.5 ms a crop), processor time measured on AMD EPYC 25 1"
    )
    assert not {"detector", "detectorMs"} & only_reader.summary().keys()
    assert not {"readerPrecision", "readerMs"} & choice_of().summary().keys()


@pytest.mark.parametrize(
    ("detector", "reader", "expected"),
    [
        ("auto", "f32", "f32"),
        ("auto", "bf16", "bf16"),
        ("auto", "auto", "auto"),
        ("bf16", "f32", "bf16"),
    ],
)
def test_a_detector_without_a_format_of_its_own_has_the_readers(
    detector: str, reader: str, expected: str
) -> None:
    settings = settings_of(detector="float", detector_precision=detector, reader_precision=reader)
    assert settings.detector_precision == expected

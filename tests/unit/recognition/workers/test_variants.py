"""What a pool's parent does about the models' variants."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from common.timestamps import now_ms
from recognition.settings import DetectorNumbers
from recognition.variants.choice import (
    BenchmarkOutcome,
    FailedBenchmark,
    choice_key,
    remember_choice,
    remember_failure,
    remembered_failure,
    this_processor,
)
from recognition.workers import variants
from recognition.workers.variants import with_variants
from tests.unit.recognition.variants.test_choice import choice_of, settings_of

SCRIPTED = "tests.unit.recognition.workers.scripted_benchmark"


async def test_nothing_is_measured_where_nothing_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", "no.such.module")
    settings = settings_of(detector="float", reader_precision="f32")
    with capture_logs() as logs:
        assert await with_variants(settings) == (settings, None)
    assert logs == []


async def test_what_is_remembered_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", "no.such.module")
    settings = settings_of(cache_folder=tmp_path)
    choice = choice_of(choice_key(settings, this_processor()))
    remember_choice(tmp_path, choice)
    used, why = await with_variants(settings)
    assert why == choice
    assert used.recognition_detector is DetectorNumbers.FLOAT


async def test_a_benchmark_that_fails_leaves_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", "no.such.module")
    settings = settings_of(cache_folder=tmp_path)
    with capture_logs() as logs:
        assert await with_variants(settings) == (settings, None)
    (line,) = logs
    assert line["event"] == "variants_not_measured"
    assert "no.such.module" in line["error"] or "No module" in line["error"]
    key = choice_key(settings, this_processor())
    assert remembered_failure(tmp_path, key, now_ms()) is not None


@pytest.mark.parametrize("is_writable", [True, False])
async def test_what_failed_is_not_tried_again_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_writable: bool
) -> None:
    """Nor by the same process, which tries to start its pool every few seconds."""
    folder = tmp_path / "folder"
    if not is_writable:
        folder.write_text("no folder")
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", "no.such.module")
    settings = settings_of(cache_folder=folder)
    await with_variants(settings)
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", SCRIPTED)
    with capture_logs() as logs:
        assert await with_variants(settings) == (settings, None)
    (line,) = logs
    assert "not tried again" in line["error"]


@pytest.mark.parametrize(("age_ms", "is_tried"), [(0, True), (60_000, False)])
async def test_a_failure_of_another_process_counts_once_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_ms: int, is_tried: bool
) -> None:
    """A young one may still become a choice: the next benchmark waits for it."""
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", SCRIPTED)
    settings = settings_of(cache_folder=tmp_path)
    key = choice_key(settings, this_processor())
    remember_failure(tmp_path, FailedBenchmark(key=key, failed_ms=now_ms() - age_ms))
    _, choice = await with_variants(settings)
    assert (choice is not None) is is_tried


async def test_what_the_runtimes_print_is_no_part_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", SCRIPTED)
    with capture_logs() as logs:
        _, choice = await with_variants(settings_of(cache_folder=tmp_path))
    assert choice == choice_of("scripted")
    assert [line["event"] for line in logs] == ["variants_measured"]


async def test_a_benchmark_without_a_choice_is_not_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_: object) -> BenchmarkOutcome:
        return BenchmarkOutcome(None, ("too slow",))

    monkeypatch.setattr(variants, "_measured", nothing)
    settings = settings_of(cache_folder=tmp_path)
    with capture_logs() as logs:
        assert await with_variants(settings) == (settings, None)
    assert [(line["event"], line["error"]) for line in logs] == [
        ("variants_not_measured", "too slow")
    ]


async def test_a_missing_model_is_left_to_its_process_to_name(tmp_path: Path) -> None:
    settings = settings_of(cache_folder=tmp_path, reader_model=tmp_path / "none.onnx")
    with capture_logs() as logs:
        assert await with_variants(settings) == (settings, None)
    assert "none.onnx" in logs[0]["error"]


async def test_a_benchmark_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", "asyncio")
    monkeypatch.setattr(variants, "BENCHMARK_TIMEOUT_SECONDS", 0.0)
    with capture_logs() as logs:
        _, choice = await asyncio.wait_for(with_variants(settings_of(cache_folder=tmp_path)), 30)
    assert choice is None
    assert [line["error"] for line in logs] == ["TimeoutError"]

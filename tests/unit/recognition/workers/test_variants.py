"""What a pool's parent does about the models' variants."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from recognition.settings import DetectorNumbers
from recognition.variants.choice import choice_key, remember_choice, this_processor
from recognition.workers import variants
from recognition.workers.variants import with_variants
from tests.unit.recognition.variants.test_choice import choice_of, settings_of


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


async def test_a_benchmark_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "BENCHMARK_MODULE", "asyncio")
    monkeypatch.setattr(variants, "BENCHMARK_TIMEOUT_SECONDS", 0.0)
    with capture_logs() as logs:
        _, choice = await asyncio.wait_for(with_variants(settings_of(cache_folder=tmp_path)), 30)
    assert choice is None
    assert [line["error"] for line in logs] == ["TimeoutError"]

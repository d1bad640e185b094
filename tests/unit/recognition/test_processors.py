"""The number of processors follows the affinity mask and the cgroup's CPU quota."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from recognition.processors import available_processors, computes_bf16
from recognition.settings import RecognizerPoolSettings
from tests.unit.recognition.cards import recognizer_settings

V2 = "sys/fs/cgroup"
V1 = "sys/fs/cgroup/cpu,cpuacct"


@pytest.fixture(autouse=True)
def _eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def _processors(root: Path, cgroup: str, files: Mapping[str, str]) -> int:
    for name, text in {"proc/self/cgroup": cgroup, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return available_processors(root)


@pytest.mark.parametrize(
    ("cgroup", "files", "processors"),
    [
        ("0::/\n", {f"{V2}/cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {f"{V2}/cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {f"{V2}/cpu.max": "250000 100000\n"}, 3),
        ("0::/\n", {f"{V2}/cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {f"{V2}/cpu.max": "9900000 100000\n"}, 8),
        ("0::/a.slice/b.service\n", {f"{V2}/a.slice/b.service/cpu.max": "300000 100000\n"}, 3),
        (
            "0::/a.slice/b.service\n",
            {
                f"{V2}/a.slice/cpu.max": "200000 100000\n",
                f"{V2}/a.slice/b.service/cpu.max": "400000 100000\n",
            },
            2,
        ),
        ("0::/docker/abc\n", {f"{V2}/cpu.max": "200000 100000\n"}, 2),
        ("0::/../../other\n", {f"{V2}/cpu.max": "200000 100000\n"}, 2),
        (
            "4:cpu,cpuacct:/kubepods/pod1\n1:name=systemd:/x\n",
            {
                f"{V1}/kubepods/pod1/cpu.cfs_quota_us": "150000\n",
                f"{V1}/kubepods/pod1/cpu.cfs_period_us": "50000\n",
            },
            3,
        ),
        (
            "4:cpu:/\n",
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            8,
        ),
        ("4:cpuset:/\n0::/\n", {f"{V2}/cpu.max": "damaged\n"}, 8),
    ],
)
def test_a_quota_limits_the_processors(
    tmp_path: Path, cgroup: str, files: Mapping[str, str], processors: int
) -> None:
    assert _processors(tmp_path, cgroup, files) == processors


def test_without_cgroups_the_affinity_mask_counts(tmp_path: Path) -> None:
    assert available_processors(tmp_path) == 8


@pytest.mark.parametrize(("processors", "workers"), [(1, 1), (2, 1), (3, 2)])
def test_recogniser_processes_follow_the_quota(
    monkeypatch: pytest.MonkeyPatch, processors: int, workers: int
) -> None:
    monkeypatch.setattr("recognition.settings.available_processors", lambda: processors)

    assert RecognizerPoolSettings.model_validate({}).worker_count == workers


_CPUINFO = "processor\t: 0\nmodel name\t: a\nflags\t\t: fpu avx2 {flags}\n"


@pytest.mark.parametrize(
    ("flags", "precision"),
    [
        ("", "int8"),
        ("avx512f avx512_vnni", "int8"),
        ("avx512f avx512_vnni avx512_bf16", "bf16"),
        ("amx_bf16 amx_int8", "bf16"),
    ],
)
def test_precision_follows_the_flags_of_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, precision: str
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text(_CPUINFO.format(flags=flags))
    monkeypatch.setattr("recognition.settings.computes_bf16", lambda: computes_bf16(tmp_path))

    assert recognizer_settings().precision == precision
    detector = "plate-detector.onnx" if precision == "int8" else "plate-detector-float.onnx"
    assert recognizer_settings().detector_path.name == detector


def test_a_processor_without_flags_computes_no_bf16(tmp_path: Path) -> None:
    assert not computes_bf16(tmp_path)


@pytest.mark.parametrize(
    ("settings", "precision"),
    [
        ({"runtime": "onnxruntime"}, "float"),
        ({"providers": "CUDAExecutionProvider"}, "float"),
        ({"runtime": "onnxruntime", "precision": "int8"}, "int8"),
        ({"precision": "bf16"}, "bf16"),
    ],
)
def test_precision_follows_the_settings(settings: dict[str, str], precision: str) -> None:
    assert recognizer_settings(**settings).precision == precision

"""Clips: bytes that do not depend on who made them, and no process left behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tools.synthetic.road import LightPlan, RoadSceneOptions, generate_road_scene

EMPTY = RoadSceneOptions(0, 1, 11.0, LightPlan.DAY, 160, 90)


def test_two_processes_make_the_same_bytes_as_one(tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    alone, together = tmp_path / "new" / "alone.mp4", tmp_path / "together.mp4"

    generate_road_scene(alone, options=EMPTY, processes=1)
    generate_road_scene(
        together, options=EMPTY, processes=2, progress=lambda *steps: done.append(steps)
    )

    assert alone.read_bytes() == together.read_bytes()
    assert done == [(250, 275), (275, 275)]


def test_nothing_appears_when_passes_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        generate_road_scene(tmp_path / "clip.mp4", options=RoadSceneOptions(9, 1, 5.0))

    assert list(tmp_path.iterdir()) == []


def test_a_killed_generator_leaves_no_process_and_no_clip(tmp_path: Path) -> None:
    out = tmp_path / "clip.mp4"
    command = [sys.executable, "-m", "tools.synthetic.road", "--out", str(out), "--size", "640x360"]
    generator = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        workers = wait_until("it has workers", lambda: _workers(generator.pid))
    finally:
        generator.send_signal(signal.SIGKILL)
        generator.wait(10)

    wait_until("they ended", lambda: not any(_runs(pid) for pid in workers))
    assert not out.exists()


def _workers(pid: int) -> list[int]:
    """The two processes that draw, once both have begun to compute."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children] if len(children) >= 3 else []


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False

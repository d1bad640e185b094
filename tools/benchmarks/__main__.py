"""Runs every benchmark that needs nothing but this project: ``make bench``.

Prints their tables one after the other; results that are kept go to docs/benchmarks.md by hand,
with machine and date.
"""

import platform
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2

from tools.synthetic.road import LightPlan, RoadSceneOptions, generate_road_scene


def _run(module: str, *arguments: str) -> None:
    command = (sys.executable, "-m", f"tools.benchmarks.{module}", *arguments)
    print(f"\n== {module} {' '.join(arguments)}", flush=True)
    subprocess.run(command, check=True)


def main() -> None:
    """Make a road scene, then measure with it what can be measured alone on this machine."""
    print(f"{platform.platform()}, Python {platform.python_version()}")
    with TemporaryDirectory(prefix="platestream-bench-") as folder:
        clip, picture = Path(folder) / "road.mp4", Path(folder) / "road.jpg"
        truth = generate_road_scene(clip, None, RoadSceneOptions(passes=4, light=LightPlan.DAY))
        capture = cv2.VideoCapture(str(clip))
        capture.set(cv2.CAP_PROP_POS_FRAMES, round((truth.passes[0].last_visible_s - 0.4) * 25))
        cv2.imwrite(str(picture), capture.read()[1])
        capture.release()
        _run("engine", str(picture))
        _run("stream_throughput", str(clip))
        _run("api_cost", str(picture))
        _run("stalled_uploads", str(picture))
    _run("pass_latency")
    _run("sink_throughput")
    _run("deliveries")
    _run("list_query")
    _run("analytics_query")
    _run("list_call")
    _run("gate_cost")
    _run("alert_rules")
    _run("alert_latency")
    _run("early_alerts")
    _run("whole_way", "--demo")


if __name__ == "__main__":
    main()

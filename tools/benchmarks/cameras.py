"""What a camera costs: RTSP cameras at the whole stack, core-seconds by process.

    python -m tools.benchmarks.cameras [CLIP ...] [--counts 1,4] [--seconds 95] [--motion]

For each clip and number of cameras a stack of its own is started, and as many RTSP cameras as
asked for, each playing the clip in a loop from its own start. ``road`` is the demo scene,
``quiet`` a still scene with a sensor's noise, ``reordered`` the same with B-frames, ``none`` no
camera at all; other names are files (25 frames a second). ``4*road+8*quiet`` are cameras of
several kinds at one stack. With ``--motion`` each camera has a small stream besides
(``motionUrl``): the clip at 640 x 360 px and five frames a second.
Printed by clip: core-seconds for each camera-second and memory of every process (its children
included, what the stack takes without cameras included), frames by what became of them, passes
that came out, and the time from the last frame with a plate until the API lists it.
"""

import argparse
import platform
import statistics
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
import psutil

from common.settings import KafkaSettings
from deploy.local.camera import DEMO_CLIP, DEMO_TRUTH
from deploy.local.ports import free_ports
from tests.e2e.api_client import ApiClient
from tests.services.rtsp import RtspCamera
from tests.services.stack import RunningStack
from tools.benchmarks.whole_way import TopicWatcher, Watch, ingested, stages_of
from tools.synthetic.quiet import generate_quiet_clip, generate_small_clip
from tools.synthetic.scene import SceneTruth
from tools.synthetic.score import PassScore, score_passes

_WARM_UP_SECONDS: Final = 15.0
_END_SECONDS: Final = 40.0
"""What is open when a camera is looked at for the last time comes out within this, also where
frames are read late."""

_POLL_SECONDS: Final = 0.2
"""Between two list calls of all cameras together: as often as costs little beside the cameras."""

_QUIET_SECONDS: Final = 20.0
_FLAGS: Final = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
_COUNTERS: Final = (
    "platestream_ingest_frames_",
    "platestream_ingest_connections_lost",
    "platestream_recognition_frames_total",
)


@dataclass(frozen=True)
class Clip:
    """What a camera plays, again and again."""

    name: str
    path: Path
    true_plates: tuple[tuple[str, float], ...] = ()
    """Plates of the clip, each with the second at which it is last visible."""
    loop_seconds: float = 0.0
    """How long the clip is, where its plates are known."""
    small: Path | None = None
    """What the small stream plays, where the camera has one."""


@dataclass(frozen=True)
class Plan:
    """One run: what each camera plays, and for how long they are measured."""

    name: str
    clips: tuple[Clip, ...]
    """One for each camera."""
    seconds: float


@dataclass
class Run:
    """What one run gave."""

    plan: Plan
    core_seconds: dict[str, float] = field(default_factory=dict)
    """Processor time of each process within the measured time, its children's included."""
    counters: Counter[str] = field(default_factory=Counter)
    """By how much each counter of ingest and recognition rose within it."""
    minutes: list[Counter[str]] = field(default_factory=list)
    """The same by minute."""
    scores: list[tuple[str, PassScore]] = field(default_factory=list)
    """What became of the passes of each camera, by the camera's name."""
    listed_ms: list[int] = field(default_factory=list)
    memory_mib: dict[str, float] = field(default_factory=dict)
    """Memory of each process at the end (proportional set size), its children's included."""


class CpuMeter:
    """Processor time by process of a stack; what children that ended took is not seen."""

    def __init__(self, stack: RunningStack) -> None:
        self._stack = stack

    def read(self) -> dict[str, float]:
        """Return seconds of processor time by process, children included."""
        return {name: cpu_seconds(pid) for name, pid in self._stack.processes().items()}


def _family(pid: int) -> list[psutil.Process]:
    try:
        main = psutil.Process(pid)
        return [main, *main.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(pid: int) -> float:
    """Return what a process and its children that live have taken of the processors."""
    return sum(_own_cpu_seconds(member) for member in _family(pid))


def _own_cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _memory_mib(pid: int) -> float:
    return sum(float(process.memory_full_info().pss) for process in _family(pid)) / 2**20


def _counters(ports: Sequence[int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for port in ports:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            for line in answer.read().decode().splitlines():
                name, _, value = line.rpartition(" ")
                if name.startswith(_COUNTERS) and "_created" not in name:
                    found[name.removeprefix("platestream_")] += round(float(value))
    return found


def _rise(before: Counter[str], after: Counter[str]) -> Counter[str]:
    return Counter({name: count - before[name] for name, count in after.items()})


@contextmanager
def _polled(api: ApiClient, watches: dict[str, Watch]) -> Iterator[None]:
    """Note when each recognition is listed for the first time."""
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(_POLL_SECONDS):
            query = {"limit": "100"}
            for one in api.call("GET", "/api/recognitions", params=query).json()["recognitions"]:
                watch = watches.get(one["cameraId"])
                if watch is not None:
                    watch.listed_ms.setdefault(one["id"], round(time.time() * 1000))

    if not watches:
        # Nothing is to be listed, and the stack is to rest.
        yield
        return
    poller = threading.Thread(target=poll)
    poller.start()
    try:
        yield
    finally:
        ended.set()
        poller.join()


def measure(plan: Plan, folder: Path, settings: dict[str, str]) -> Run:
    """Play a plan on a fresh stack."""
    run = Run(plan)
    ports = free_ports(2)
    names = ("INGEST_METRICS_PORT", "RECOGNITION_METRICS_PORT")
    given = {**dict(zip(names, map(str, ports), strict=True)), **settings}
    with ExitStack() as exits:
        stack = exits.enter_context(RunningStack(folder, given))
        api = ApiClient(stack.access.base_url, stack.access.api_key)
        watcher = TopicWatcher(stack.settings(KafkaSettings))
        watcher.start()
        watches: dict[str, Watch] = {}
        for number, clip in enumerate(plan.clips):
            source = exits.enter_context(RtspCamera(clip.path))
            body = {"name": f"{clip.name} {number}", "rtspUrl": source.url}
            if clip.small is not None:
                body["motionUrl"] = exits.enter_context(RtspCamera(clip.small)).url
            camera = _registered(api, body)
            watches[camera] = watcher.watch(camera)
        meter = CpuMeter(stack)
        with _polled(api, watches):
            time.sleep(_WARM_UP_SECONDS)
            cpu, counters, began = meter.read(), _counters(ports), time.monotonic()
            minutes = [counters]
            while (left := began + plan.seconds - time.monotonic()) > 0:
                time.sleep(min(60.0, left))
                minutes.append(_counters(ports))
            took = time.monotonic() - began
            after = meter.read()
            run.core_seconds = {n: (after[n] - cpu.get(n, 0.0)) / took for n in after}
            run.counters = _rise(counters, minutes[-1])
            run.minutes = [_rise(before, after) for before, after in pairwise(minutes)]
            run.memory_mib = {n: _memory_mib(pid) for n, pid in stack.processes().items()}
            ended_ms = round(time.time() * 1000)
            time.sleep(_END_SECONDS)
        ingested_ms = ingested(stack)
        watcher.end()
        api.close()
    for number, (clip, watch) in enumerate(zip(plan.clips, watches.values(), strict=True)):
        run.scores.append((f"{clip.name} {number}", _score(clip, watch, ended_ms)))
        run.listed_ms += [line[-1] for line in stages_of(watch, ingested_ms)]
    return run


def _registered(api: ApiClient, body: dict[str, str]) -> str:
    """Register a camera, once a worker is there to take it."""

    def register() -> str | None:
        answer = api.attempt("POST", "/api/cameras", json=body)
        return str(answer.json()["camera"]["id"]) if answer.status_code == 201 else None

    return api.wait_until("the camera is taken", register, seconds=300) or ""


def _score(clip: Clip, watch: Watch, ended_ms: int) -> PassScore:
    """Score each time through the clip for itself: they show the same plates."""
    gone_s = dict(clip.true_plates)
    loop_s = clip.loop_seconds or float("inf")
    begin_ms = min(watch.read_ms, default=ended_ms)
    played_s = (ended_ms - begin_ms) / 1000
    reported: dict[int, list[str]] = {}
    for recognition, _ in watch.recognized.values():
        at_s = (recognition.last_seen_ms - begin_ms) / 1000
        if at_s <= played_s:
            loop = _loop(at_s, loop_s, gone_s.get(recognition.plate))
            reported.setdefault(loop, []).append(recognition.plate)
    scores = []
    for loop in range(int(played_s // loop_s) + 1):
        true = [plate for plate, at_s in gone_s.items() if loop * loop_s + at_s < played_s - 1.0]
        # What was in view at the end may have come out, or not: neither counts.
        open_ = gone_s.keys() - true
        scores.append(score_passes(true, [p for p in reported.get(loop, []) if p not in open_]))
    return _together(scores)


def _loop(at_s: float, loop_s: float, gone_s: float | None) -> int:
    """Return which time through the clip a vehicle was last seen in."""
    if loop_s == float("inf"):
        return 0
    return max(0, round((at_s - gone_s) / loop_s) if gone_s is not None else int(at_s // loop_s))


def _together(scores: Sequence[PassScore]) -> PassScore:
    return PassScore(
        passes=sum(score.passes for score in scores),
        right_once=tuple(plate for score in scores for plate in score.right_once),
        doubled=tuple(plate for score in scores for plate in score.doubled),
        missed=tuple(plate for score in scores for plate in score.missed),
        invented=tuple(plate for score in scores for plate in score.invented),
    )


def report(run: Run) -> None:
    """Print what a run gave."""
    plan = run.plan
    cameras = max(1, len(plan.clips))
    name = plan.name
    if any(clip.small is not None for clip in plan.clips):
        name = f"{plan.name} with a small stream"
    print(f"\n{name}, {len(plan.clips)} cameras, {plan.seconds:.0f} s; cores a camera, MiB in all")
    for name, cores in sorted(run.core_seconds.items(), key=lambda item: -item[1]):
        print(f"  {name:14} {cores / cameras:.3f} {run.memory_mib.get(name, 0.0):6.0f}")
    total, memory_mib = sum(run.core_seconds.values()), sum(run.memory_mib.values())
    print(f"  {'all':14} {total / cameras:.3f} {memory_mib:6.0f}   (the stack: {total:.2f} cores)")
    for name, count in sorted(run.counters.items()):
        if count:
            print(f"  {name} {count} ({count / cameras / plan.seconds:.2f} a second and camera)")
            if name.startswith("recognition") and len(run.minutes) > 1:
                print(f"    by minute: {' '.join(str(minute[name]) for minute in run.minutes)}")
    for camera, score in run.scores:
        print(f"  passes of {camera}: {score}")
    if len(run.listed_ms) > 1:
        parts = statistics.quantiles(run.listed_ms, n=20, method="inclusive")
        print(f"  last frame -> listed, ms: p50 {parts[9]:.0f}, p95 {parts[18]:.0f}", end="")
        print(f", {len(run.listed_ms)} recognitions")


def _plans(arguments: argparse.Namespace, folder: Path) -> Iterator[Plan]:
    counts = [int(count) for count in arguments.counts.split(",")]
    for name in arguments.clips:
        clips: list[Clip] = []
        for part in name.split("+") if name != "none" else []:
            number, _, kind = part.rpartition("*")
            clips += [_clip(kind, folder, arguments.motion)] * int(number or 1)
        for count in counts if clips else [0]:
            yield Plan(name, tuple(clips * count), arguments.seconds)


def _clip(name: str, folder: Path, motion: bool) -> Clip:
    truth: tuple[tuple[str, float], ...] = ()
    loop_seconds = 0.0
    path = Path(name)
    if name == "road":
        path = DEMO_CLIP
        scene = msgspec.json.decode(DEMO_TRUTH.read_bytes(), type=SceneTruth)
        truth = tuple((one.plate, one.last_visible_s) for one in scene.passes)
        loop_seconds = scene.duration_s
    elif name in ("quiet", "reordered"):
        path = folder / f"{name}.mp4"
        bframes = 2 if name == "reordered" else 0
        if not path.exists():
            generate_quiet_clip(path, DEMO_CLIP, seconds=_QUIET_SECONDS, reordered=bframes)
    small: Path | None = None
    if motion:
        small = folder / f"{path.stem}-small.mp4"
        generate_small_clip(small, path)
    return Clip(name, path, truth, loop_seconds, small)


def _machine() -> str:
    flags = Path("/proc/cpuinfo").read_text().split()
    having = [flag for flag in _FLAGS if flag in flags]
    cores, load = psutil.cpu_count(), psutil.getloadavg()[0]
    return f"{platform.platform()}, {cores} cores ({' '.join(having)}), load {load:.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="*", default=["none", "quiet", "road"])
    parser.add_argument("--counts", default="1")
    parser.add_argument("--seconds", type=float, default=95.0)
    parser.add_argument("--motion", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    settings = dict(given.split("=", 1) for given in arguments.set)
    print(_machine(), flush=True)
    with TemporaryDirectory(prefix="platestream-bench-") as name:
        folder = Path(name)
        for number, plan in enumerate(_plans(arguments, folder)):
            report(measure(plan, folder / f"stack-{number}", settings))
            print(f"  load {psutil.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()

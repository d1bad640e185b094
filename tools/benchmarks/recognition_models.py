"""Measures our models and others side by side on labelled photos: ``make bench-recognition``.

    python -m tools.benchmarks.recognition_models PHOTOS.jsonl [--split val] [--peer PEER]...

A PEER is NAME,DETECTOR,READER[,RUNTIME]: a pair of model files, each with a card beside it or of a
maker whose files need none (recognition/models/README.md); an empty file is ours. Prints Markdown
tables: accuracy with 95 % intervals, by data set, width, light and shape; what is gained over each
peer; calibration; processor time of 1080p photos and the models' part of it, resident memory and
start-up, each pair in a process of its own. The photos that are timed are drawn, and named by the
width of the one plate in them: frames of a road, and one of noise.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self
from unittest.mock import patch

import cv2
import numpy as np

from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.models.runtime import Model, Shape, Tensor, load_model
from recognition.settings import Precision, RecognizerSettings, RuntimeName
from tools.benchmarks.engine import quick_cpu_ms, resident_mib
from tools.evaluation.command import Evaluation, evaluate
from tools.evaluation.compare import gain, groups, hits
from tools.evaluation.photos import Photo, load_photo_file
from tools.evaluation.run import Share
from tools.evaluation.scoring import score
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import plate_with_text
from tools.synthetic.road import LightPlan, RoadScene, RoadSceneOptions
from tools.synthetic.scene import FPS

REPEAT = 30
_HOST = (1080, 1920)

ROAD_PHOTOS = {"043 px": 0.6, "065 px": 1.8, "129 px": 3.0}
"""When the one car of the drawn road has a plate of this width, in seconds."""


@dataclass(frozen=True)
class Pair:
    """Two model files under a name; None: those that come with the service."""

    name: str
    detector: Path | None = None
    reader: Path | None = None
    runtime: RuntimeName | None = None

    def recognizer(self) -> Recognizer:
        """The engine with these models, else as the environment sets it."""
        named = {
            "recognition_detector_model": self.detector,
            "recognition_reader_model": self.reader,
            "recognition_runtime": self.runtime,
        }
        given: dict[str, object] = {k: v for k, v in named.items() if v is not None}
        if self.reader is not None:
            # A reader of the hub would come before the file.
            given["recognition_reader_hub_model"] = None
        return Recognizer(RecognizerSettings.model_validate(given))


@dataclass(frozen=True)
class Cost:
    """What a pair costs: CPU milliseconds of each photo and of the models alone, MiB, seconds."""

    photo_ms: dict[str, tuple[float, float]]
    resident_mib: float
    start_seconds: float


class Stopwatch:
    """Counts the processor time of all models that are loaded while it is in use."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Self:
        """Stand between the engine and its models."""
        self._patches = [
            patch(f"recognition.{name}.load_model", self._load)
            for name in ("detection.detector", "reading.reader", "reading.ctc_reader")
        ]
        for one in self._patches:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let models be loaded as ever."""
        for one in self._patches:
            one.stop()

    def _load(
        self,
        path: Path,
        settings: RecognizerSettings,
        precision: Precision,
        usual: Shape | None = None,
    ) -> Model:
        return _TimedModel(load_model(path, settings, precision, usual), self)


class _TimedModel:
    def __init__(self, model: Model, watch: Stopwatch) -> None:
        self._model, self._watch = model, watch

    def run(self, tensor: Tensor) -> dict[str, Tensor]:
        started = time.process_time()
        outputs = self._model.run(tensor)
        self._watch.seconds += time.process_time() - started
        return outputs


def photo_of_one_plate() -> bytes:
    """A 1080p JPEG with one rendered plate on a dark car."""
    rng = np.random.default_rng(3)
    image = rng.normal(120, 8, (*_HOST, 3)).clip(0, 255).astype(np.uint8)
    cv2.rectangle(image, (560, 420), (1360, 940), (45, 40, 40), -1)
    plate = plate_with_text(BY_CODE["it"], "SH350AZ", rng).image
    image[780:829, 845:1075] = cv2.resize(plate, (230, 49), interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes()


def road_photo(time_s: float) -> bytes:
    """A 1080p JPEG of a drawn road with one car, as ingest sends it."""
    scene = RoadScene(RoadSceneOptions(passes=1, seed=7, light=LightPlan.DAY))
    index = round(time_s * FPS)
    _, frame = next(scene.frames(index, index + 1))
    return cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, 80])[1].tobytes()


def write_timed_photos(folder: Path) -> None:
    """Write the photos that are timed, by name."""
    photos = {name: road_photo(at) for name, at in ROAD_PHOTOS.items()}
    for name, data in ({"230 px, noise": photo_of_one_plate()} | photos).items():
        (folder / f"{name}.jpg").write_bytes(data)


def cost_here(pair: Pair, photos: Path) -> Cost:
    """Measure a pair in this process, which should have done nothing else."""
    cv2.setNumThreads(1)
    with Stopwatch() as watch:
        started = time.perf_counter()
        recognizer = pair.recognizer()
        start_seconds = time.perf_counter() - started
        costs = {}
        for path in sorted(photos.glob("*.jpg")):
            data = path.read_bytes()
            costs[path.stem] = quick_cpu_and_models_ms(recognizer, data, watch)
            plates = ", ".join(reading.text for reading in recognizer.recognize(decode_image(data)))
            sys.stderr.write(f"{pair.name}, {path.stem}: {plates or 'nothing read'}\n")
    return Cost(costs, resident_mib(), start_seconds)


def quick_cpu_and_models_ms(
    recognizer: Recognizer, data: bytes, watch: Stopwatch
) -> tuple[float, float]:
    """The lower quartile of a photo's CPU time, decoding included, and the models' part of it."""
    parts = list[float]()

    def read() -> None:
        watch.seconds = 0.0
        recognizer.recognize(decode_image(data))
        parts.append(watch.seconds)

    whole_ms = quick_cpu_ms(read, REPEAT)
    return whole_ms, statistics.quantiles(parts, n=4)[0] * 1000


def cost_of(pair: Pair, photos: Path) -> Cost:
    """Measure a pair in a fresh process."""
    with TemporaryDirectory(prefix="platestream-bench-") as folder:
        out = Path(folder) / "cost.json"
        command = [sys.executable, "-m", "tools.benchmarks.recognition_models", str(photos)]
        command += ["--cost-to", str(out)]
        subprocess.run([*command, "--peer", _argument(pair)], check=True)
        return Cost(**json.loads(out.read_text()))


def measure(photos: list[Photo], pair: Pair) -> Evaluation:
    """Read all photos with a pair, with a line of progress."""
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{pair.name}: {done} of {len(photos)} photos")

    return evaluate(photos, pair.recognizer(), advance, pictures=False)


def print_accuracy(found: dict[str, Evaluation]) -> None:
    """The first table, and one table for each kind of plates."""
    print("| models | detected | exact | O=0 I=1 folded | calibration error | false alarms |")
    print("|---|---|---|---|---|---|")
    for name, evaluation in found.items():
        s = evaluation.summary
        print(
            f"| {name} | {_share(s.detected)} | {_share(s.exact)} | {_share(s.folded)} "
            f"| {100 * s.calibration_error:.1f} % | {s.false_alarms} of {s.exhaustive_photos} |"
        )
    for index, (kind, _) in enumerate(next(iter(found.values())).summary.tables):
        columns = [e.summary.tables[index][1] for e in found.values()]
        print(f"\n| {kind} | plates | " + " | ".join(f"{n}: found, exact" for n in found) + " |")
        print("|---" * (2 + len(found)) + "|")
        for rows in zip(*columns, strict=True):
            cells = (f"{row.found}, {row.exact} of {row.certain}" for row in rows)
            print(f"| {rows[0].name} | {rows[0].plates} | " + " | ".join(cells) + " |")


def print_gains(photos: list[Photo], found: dict[str, Evaluation]) -> None:
    """What the first pair gains over each other one, in points."""
    parts = groups(photos)
    ours, *peers = (
        (name, {one.photo.name: [*one.said] for one in e.looked}) for name, e in found.items()
    )
    for name, said in peers:
        for what, of in (("detected", "plates"), ("exact", "certain")):
            all_ = np.array([float(getattr(score(part, said), of)) for part in parts])
            before, after = (np.array(hits(parts, by, what)) for by in (said, ours[1]))
            gained = gain(before, after, all_)
            print(
                f"{what}, {ours[0]} against {name}: {gained.points:+.1f} points "
                f"(95 % from {gained.low:+.1f} to {gained.high:+.1f})"
            )


def print_reliability(found: dict[str, Evaluation]) -> None:
    """Mean confidence and share of right readings in each class of confidence."""
    print("\n| models | readings: mean confidence → share right |")
    print("|---|---|")
    for name, evaluation in found.items():
        bins = (f"{b.count}: {b.confidence:.2f} → {b.right:.2f}" for b in evaluation.summary.bins)
        print(f"| {name} | {' · '.join(bins)} |")


def print_costs(pairs: list[Pair]) -> None:
    """Processor time, memory and start-up of each pair."""
    with TemporaryDirectory(prefix="platestream-bench-") as folder:
        write_timed_photos(Path(folder))
        costs = {pair.name: cost_of(pair, Path(folder)) for pair in pairs}
    names = [*next(iter(costs.values())).photo_ms]
    print(
        "\n| models | " + " | ".join(f"{n}: CPU, models" for n in names) + " | resident | start |"
    )
    print("|---" * (len(names) + 3) + "|")
    for name, cost in costs.items():
        times = [f"{whole:.1f}, {models:.1f} ms" for whole, models in cost.photo_ms.values()]
        print(
            f"| {name} | {' | '.join(times)} | {cost.resident_mib:.0f} MiB "
            f"| {cost.start_seconds:.2f} s |"
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, nargs="?", help="JSON lines (docs/accuracy.md)")
    parser.add_argument("--split")
    parser.add_argument("--peer", type=_pair, action="append", default=[])
    parser.add_argument("--cost-to", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cost_to is not None:
        cost = cost_here(arguments.peer[0], arguments.photos)
        arguments.cost_to.write_text(json.dumps(asdict(cost)))
        return
    pairs = [Pair("ours"), *arguments.peer]
    if arguments.photos is not None:
        photos = load_photo_file(arguments.photos, arguments.split)
        found = {pair.name: measure(photos, pair) for pair in pairs}
        print_accuracy(found)
        print_gains(photos, found)
        print_reliability(found)
    print_costs(pairs)


def _pair(text: str) -> Pair:
    name, *files = text.split(",")
    if len(files) not in (2, 3):
        raise argparse.ArgumentTypeError("NAME,DETECTOR,READER[,RUNTIME]; an empty file: ours")
    detector, reader = (Path(file) if file else None for file in files[:2])
    return Pair(name, detector, reader, RuntimeName(files[2]) if files[2:] and files[2] else None)


def _argument(pair: Pair) -> str:
    return f"{pair.name},{pair.detector or ''},{pair.reader or ''},{pair.runtime or ''}"


def _share(share: Share) -> str:
    return f"{100 * share.value:.1f} % ({100 * share.low:.1f}–{100 * share.high:.1f})"


if __name__ == "__main__":
    main()

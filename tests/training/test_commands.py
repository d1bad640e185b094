"""Short runs of the training commands: their output works, and an interrupted run resumes.

So few drawn images give no useful model. Training starts from the committed weights.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import cv2
import pytest

from recognition.detection.detector import Detector
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from tests.waiting import wait_until
from tools.training.photos import load_photos

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "recognition" / "models"
START_SECONDS, SECONDS = 300, 1200

pytestmark = [pytest.mark.training, pytest.mark.timeout(2 * SECONDS)]


class Workplace:
    """A copy of the models, a folder for checkpoints, and ``make`` with relative paths to both."""

    def __init__(self, folder: Path, photos: Path, trainer: str) -> None:
        self.models, self.work, self._log = folder / "models", folder / "work", folder / "log"
        shutil.copytree(COMMITTED, self.models)
        self._variables = {
            "MODELS": os.path.relpath(self.models, ROOT),
            "WORK": os.path.relpath(self.work, ROOT),
            "PHOTOS": str(photos),
            "TRAIN": trainer,
        }

    @contextmanager
    def started(self, target: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
        """Yield the process of a target, and kill all its processes at the end of the block."""
        given = [f"{k}={v}" for k, v in (self._variables | variables).items()]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        with (
            self._log.open("wb") as log,
            subprocess.Popen(
                ["make", target, *given],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def make(self, target: str, **variables: str) -> str:
        """Run a target to its end, and return the output."""
        with self.started(target, **variables) as process:
            process.wait(SECONDS)
        said = self._log.read_text()
        assert process.returncode == 0, said
        return said

    def settings(self) -> RecognizerSettings:
        names = ("detector", "reader", "second_reader")
        files = {n: self.models / f"plate-{n.replace('_', '-')}.onnx" for n in names}
        return RecognizerSettings.model_validate(
            {f"recognition_{name}_model": file for name, file in files.items()}
        )


@pytest.fixture
def workplace(tmp_path: Path, photos: Path, trainer: str) -> Workplace:
    return Workplace(tmp_path, photos, trainer)


def assert_image(path: Path) -> None:
    decoded = cv2.imread(str(path))
    assert decoded is not None and decoded.std() > 1, path


def test_a_detector_is_trained_in_one_command_that_may_be_killed(
    workplace: Workplace, photos: Path, others: Path
) -> None:
    few = "--floating 4 --screens 6"
    command = {
        "START": str(COMMITTED / "plate-detector-float.onnx"),
        "OTHERS": str(others),
        "FIRST": f"--epochs 2 --rate 0.0001 {few}",
        "FURTHER": f"--epochs 1 --rate 0.00001 {few}",
    }
    checkpoint = workplace.work / "first" / "detector" / "weights" / "last.pt"
    with workplace.started("train-detector", **command):
        wait_until("an epoch is saved", checkpoint.exists, START_SECONDS)

    said = workplace.make("train-detector", **command)

    assert f"{checkpoint}: resuming" in said
    assert f"{workplace.work / 'detector'}: finished" not in said
    assert_image(workplace.work / "detector" / "train_batch0.jpg")
    assert "plates found" in (workplace.work / "misses.html").read_text()
    assert (workplace.models / "plate-detector.onnx").read_bytes() != (
        COMMITTED / "plate-detector.onnx"
    ).read_bytes()
    new, old = (
        Detector.load(workplace.settings()),
        Detector.load(RecognizerSettings.model_validate({})),
    )
    val = [decode_image(photo.path.read_bytes()) for photo in load_photos(photos, "val")]
    found, before = (sum(len(d.search(i, 0.3)) for i in val) for d in (new, old))
    assert found >= 0.8 * before > 0

    assert f"{checkpoint.parents[1]}: already finished" in workplace.make(
        "train-detector", **command
    )


def test_a_reader_is_trained(workplace: Workplace, photos: Path) -> None:
    few = "--device cpu --minutes 0.2 --batch 16 --drawn 160 --swaps 1 --workers 1"
    start, written = COMMITTED / "plate-reader.onnx", workplace.models / "plate-reader.onnx"
    said = workplace.make("train-reader", START=str(start), MORE=str(photos), READER=few)
    assert "steps of 16 crops" in said
    assert written.read_bytes() != start.read_bytes()
    Recognizer(workplace.settings())


def test_both_models_are_measured_together(workplace: Workplace) -> None:
    said = workplace.make("evaluate")
    assert "calibration:" in said
    assert "plates found" in (workplace.work / "misses.html").read_text()

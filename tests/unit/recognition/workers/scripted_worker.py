"""An inference worker without models, whose results depend on the bytes of the image."""

import os
import time
from pathlib import Path

from common.errors import InvalidInputError, MisconfiguredError
from recognition.settings import RecognizerPoolSettings
from recognition.workers.protocol import Job, JobOutcome
from recognition.workers.worker import JobHandler, error_outcome, run_worker

_MIB = 1024 * 1024


def prepare(settings: RecognizerPoolSettings) -> JobHandler:
    """Fail to start if the settings name this reader."""
    if settings.reader_path.name == "missing.onnx":
        raise MisconfiguredError("the reader is missing")
    if settings.reader_path.name == "dies.onnx":
        os._exit(3)
    return perform


def perform(jobs: list[Job]) -> list[JobOutcome]:
    return [_outcome(job, len(jobs)) for job in jobs]


def _outcome(job: Job, together: int) -> JobOutcome:
    """Perform the job. The width in the result is the ID of this process."""
    word, _, what = job.image.decode().partition(" ")
    match word:
        case "sleep":
            time.sleep(float(what))
        case "wait":
            while not Path(what).exists():
                time.sleep(0.01)
        case "crash":
            os._exit(3)
        case "fail":
            raise ZeroDivisionError
        case "refuse":
            return error_outcome(InvalidInputError("The image is bad.", code="unreadable_image"))
        case "together":
            return JobOutcome(width_px=together)
        case "grown":
            return JobOutcome(width_px=os.getpid(), resident_bytes=int(what) * _MIB)
        case "allocate":
            bytearray(int(what) * _MIB)
    return JobOutcome(width_px=os.getpid(), height_px=job.min_plate_width_px)


if __name__ == "__main__":
    run_worker(prepare)

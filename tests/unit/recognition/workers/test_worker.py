from queue import Queue

import cv2
import numpy as np

from recognition.types import BgrImage
from recognition.workers.protocol import Job
from recognition.workers.worker import batches, read_image_files
from tests.unit.recognition.test_engine import recognizer


def jpeg(image: BgrImage) -> bytes:
    return cv2.imencode(".jpg", image)[1].tobytes()


def test_of_jobs_done_together_one_that_is_no_image_is_refused_alone() -> None:
    image = jpeg(np.zeros((320, 480, 3), np.uint8))
    jobs = [Job(image=image), Job(image=b"no image"), Job(image=image, min_plate_width_px=300)]

    first, bad, wide = read_image_files(recognizer("AB123CD"), jobs)

    assert [reading.text for reading in first.readings] == ["AB123CD"]
    assert (first.width_px, first.height_px) == (480, 320)
    assert bad.error_code == "unsupported_image"
    assert wide.readings == () and wide.error_code is None
    assert first.resident_bytes == wide.resident_bytes > 0


def test_jobs_without_an_image_are_all_refused() -> None:
    outcomes = read_image_files(recognizer("AB123CD"), [Job(image=b""), Job(image=b"x")])
    assert [one.error_code for one in outcomes] == ["empty_image", "unsupported_image"]


def test_what_lies_there_is_done_together_up_to_a_number_and_the_rest_before_the_end() -> None:
    jobs = Queue[Job | None]()
    given = [Job(image=b"%d" % number) for number in range(6)]
    for job in (*given, None):
        jobs.put(job)
    assert list(batches(jobs, 4)) == [given[:4], given[4:]]

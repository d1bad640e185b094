"""Snapshots: the latest one wins, and errors of S3 do not affect the capture."""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from urllib3.exceptions import MaxRetryError

from common.records.object_keys import snapshot_key
from common.settings import S3Settings
from ingest.capture.messages import EncodedImage
from ingest.frames.snapshots import Snapshot, SnapshotUploader
from ingest.metrics import IngestMetrics

OWNER = UUID(int=9)
_WAIT_SECONDS = 10


class FakeS3:
    """Stores objects in a dictionary once the gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.put_gate = threading.Event()
        self.put_gate.set()
        self.is_unavailable = False
        self.begun = threading.Semaphore(0)
        self.calls = threading.Semaphore(0)
        self.stored: dict[str, Any] = {}
        self.removed: list[str] = []

    def put_object(self, _: str, name: str, data: Any, *__: Any, **rest: Any) -> None:
        self._pass()
        assert self.put_gate.wait(_WAIT_SECONDS)
        self.stored[name] = (data.read(), rest["metadata"])
        self.calls.release()

    def remove_object(self, _: str, name: str) -> None:
        self._pass()
        self.removed.append(name)
        self.stored.pop(name, None)
        self.calls.release()

    def wait_for_calls(self, count: int) -> None:
        for _ in range(count):
            assert self.calls.acquire(timeout=_WAIT_SECONDS)

    def wait_for_beginnings(self, count: int) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=_WAIT_SECONDS)

    def _pass(self) -> None:
        self.begun.release()
        assert self.gate.wait(_WAIT_SECONDS)
        if self.is_unavailable:
            self.calls.release()
            raise MaxRetryError(None, "/", None)  # type: ignore[arg-type]


class Uploads:
    """An uploader with its S3 and its counters."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.s3 = FakeS3()
        self.metrics = IngestMetrics()
        monkeypatch.setattr("common.s3.Minio", lambda *_, **__: self.s3)
        settings = S3Settings.model_validate({"s3_secret_key": "x"})
        self.uploader = SnapshotUploader(settings, self.metrics)

    def count(self, outcome: str) -> float:
        name = "platestream_ingest_snapshots_total"
        return self.metrics.registry.get_sample_value(name, {"outcome": outcome}) or 0.0


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Uploads]:
    uploads = Uploads(monkeypatch)
    yield uploads
    uploads.s3.gate.set()
    assert uploads.uploader.stop(_WAIT_SECONDS)


def _snapshot(camera: int, number: int = 0) -> Snapshot:
    return Snapshot(
        OWNER, UUID(int=camera), 1_800_000_000_000, EncodedImage(b"%d" % number, 640, 360)
    )


def test_a_snapshot_is_stored_with_its_size_and_time(uploads: Uploads) -> None:
    uploads.s3.gate.set()
    uploads.uploader.offer(_snapshot(1))
    uploads.s3.wait_for_calls(1)

    data, metadata = uploads.s3.stored[snapshot_key(OWNER, UUID(int=1))]
    assert data == b"0"
    assert metadata == {"width": "640", "height": "360", "captured": "1800000000000"}


def test_a_newer_snapshot_replaces_one_that_waits(uploads: Uploads) -> None:
    for camera in (1, 2):
        uploads.uploader.offer(_snapshot(camera))
    # Both threads are busy with these snapshots, so later snapshots wait.
    uploads.s3.wait_for_beginnings(2)
    for number in range(50):
        uploads.uploader.offer(_snapshot(3, number))
    uploads.s3.gate.set()
    uploads.s3.wait_for_calls(3)

    assert uploads.s3.stored[snapshot_key(OWNER, UUID(int=3))][0] == b"49"


def test_what_waits_is_bounded(uploads: Uploads) -> None:
    for camera in (1, 2):
        uploads.uploader.offer(_snapshot(camera))
    uploads.s3.wait_for_beginnings(2)
    for camera in range(10, 310):
        uploads.uploader.offer(_snapshot(camera))

    assert uploads.count("skipped") == 100


def test_an_absent_s3_is_counted_and_tried_again(uploads: Uploads) -> None:
    uploads.s3.gate.set()
    uploads.s3.is_unavailable = True
    uploads.uploader.offer(_snapshot(1))
    uploads.s3.wait_for_calls(1)
    uploads.s3.is_unavailable = False
    uploads.uploader.offer(_snapshot(1))
    uploads.s3.wait_for_calls(1)
    assert uploads.uploader.stop(_WAIT_SECONDS)

    assert uploads.count("failed") == 1
    assert uploads.count("stored") == 1


def test_a_snapshot_that_is_being_stored_does_not_outlive_its_camera(uploads: Uploads) -> None:
    uploads.s3.gate.set()
    uploads.s3.put_gate.clear()
    uploads.uploader.offer(_snapshot(1))
    uploads.s3.wait_for_beginnings(1)

    uploads.uploader.remove(OWNER, UUID(int=1))
    # The free thread processes another camera's removal, but not the same camera's.
    uploads.uploader.remove(OWNER, UUID(int=2))
    uploads.s3.wait_for_calls(1)
    assert uploads.s3.removed == [snapshot_key(OWNER, UUID(int=2))]
    uploads.s3.put_gate.set()
    uploads.s3.wait_for_calls(2)

    assert uploads.s3.removed[1:] == [snapshot_key(OWNER, UUID(int=1))]
    assert uploads.s3.stored == {}

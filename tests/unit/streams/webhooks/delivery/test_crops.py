"""Time that a notification waits for its crop, whatever S3 does."""

import asyncio
import threading
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import msgspec
import pytest
from urllib3 import HTTPResponse

from common.errors import TransientError
from common.records.alerts import TriggerPhase
from common.records.deliveries import EmailTarget, trigger_delivery
from common.records.object_keys import STORED_WITHIN_MS
from common.settings import S3Settings
from streams.webhooks.delivery import crops
from streams.webhooks.delivery.crops import CropReader, crop_of
from tests.unit.streams.webhooks.builders import trigger_in_phase

_BOUND_SECONDS = 0.2


class FrozenS3:
    """Fake S3 that does not respond until it is released."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.asked: list[str] = []

    def get_object(self, bucket: str, key: str) -> HTTPResponse:
        """Return an object whose bytes are its key."""
        self.asked.append(key)
        self.may_answer.wait(10)
        return HTTPResponse(BytesIO(key.encode()), preload_content=False)


@pytest.fixture
def s3() -> Iterator[FrozenS3]:
    """S3 that does not respond until a test releases it."""
    frozen = FrozenS3()
    yield frozen
    frozen.may_answer.set()


@pytest.fixture
def reader(s3: FrozenS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[CropReader]:
    """A reader with a timeout of a fifth of a second."""
    monkeypatch.setattr(crops, "_IMAGE_READ_SECONDS", _BOUND_SECONDS)
    monkeypatch.setattr("common.s3.Minio", lambda *_, **__: s3)
    reader = CropReader(S3Settings.model_validate({"s3_secret_key": "unused"}))
    yield reader
    reader.close()


async def _fetch(reader: CropReader, key: str) -> Any:
    try:
        return await reader.fetch(key)
    except TransientError as error:
        return error


@pytest.mark.parametrize(
    ("age_ms", "comes_after", "expected"),
    [(0, 0, "crop"), (0, 2, "crop"), (0, 99, None), (2 * STORED_WITHIN_MS, 1, None)],
    ids=["there", "a moment later", "too late", "of long ago"],
)
async def test_an_email_waits_a_moment_for_an_image_that_is_not_stored_yet(
    monkeypatch: pytest.MonkeyPatch, age_ms: int, comes_after: int, expected: str | None
) -> None:
    monkeypatch.setattr(crops, "_IMAGE_READ_SECONDS", _BOUND_SECONDS)
    monkeypatch.setattr(crops, "_IMAGE_PAUSE_SECONDS", _BOUND_SECONDS / 10)
    asked: list[str] = []

    async def fetch(key: str) -> bytes | None:
        asked.append(key)
        return key.encode() if len(asked) > comes_after else None

    trigger = trigger_in_phase(TriggerPhase.FINAL)
    seen = msgspec.structs.replace(trigger.recognition, crop_key="crop")
    trigger = msgspec.structs.replace(trigger, recognition=seen)
    target = EmailTarget(alert_id=trigger.alert.alert_id, address_encrypted="x")
    delivery = trigger_delivery(trigger, "email-1", target)
    image = await crop_of(delivery, fetch, seen.captured_ms + age_ms)
    assert image == (expected and expected.encode())
    assert len(asked) == comes_after + 1 if expected else age_ms == 0 or len(asked) == 1


async def test_emails_wait_concurrently_and_leave_no_tasks(
    reader: CropReader, s3: FrozenS3
) -> None:
    began = time.monotonic()
    results = await asyncio.gather(*(_fetch(reader, f"frozen-{n}") for n in range(40)))
    assert time.monotonic() - began < 10 * _BOUND_SECONDS
    assert all(isinstance(result, TransientError) for result in results)
    assert s3.asked == ["frozen-0", "frozen-1"]
    s3.may_answer.set()
    assert await reader.fetch("later") == b"later"
    assert s3.asked == ["frozen-0", "frozen-1", "later"]


def test_an_image_that_trickles_in_holds_no_thread(
    reader: CropReader, s3: FrozenS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trickle(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            time.sleep(_BOUND_SECONDS / 10)
            return b"."

        read1 = read

    answer = HTTPResponse(Trickle(), preload_content=False)
    monkeypatch.setattr(s3, "get_object", lambda *_: answer)
    began = time.monotonic()
    with pytest.raises(TransientError, match="timed out"):
        reader._fetch("slow")
    assert time.monotonic() - began < 10 * _BOUND_SECONDS


def test_what_is_too_large_for_mail_is_left_out(
    reader: CropReader, s3: FrozenS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size, expected in ((2 * 1024 * 1024, True), (2 * 1024 * 1024 + 1, False)):
        answer = HTTPResponse(BytesIO(bytes(size)), preload_content=False)
        monkeypatch.setattr(s3, "get_object", lambda *_, answer=answer: answer)
        image = reader._fetch("large")
        assert (image == bytes(size)) is expected

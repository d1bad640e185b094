"""How long an email waits for its image, whatever S3 does."""

import asyncio
import threading
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from urllib3 import HTTPResponse

from common.errors import TransientError
from common.settings import S3Settings
from streams.webhooks.email import sender
from streams.webhooks.email.sender import EmailImageReader

_BOUND_SECONDS = 0.2


class FrozenS3:
    """Answers nothing until it may."""

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
    """S3 that stands still."""
    frozen = FrozenS3()
    yield frozen
    frozen.may_answer.set()


@pytest.fixture
def reader(s3: FrozenS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmailImageReader]:
    """A reader that waits for a fifth of a second."""
    monkeypatch.setattr(sender, "_IMAGE_READ_SECONDS", _BOUND_SECONDS)
    monkeypatch.setattr("common.s3.Minio", lambda *_, **__: s3)
    reader = EmailImageReader(S3Settings.model_validate({"s3_secret_key": "unused"}))
    yield reader
    reader.close()


async def _fetch(reader: EmailImageReader, key: str) -> Any:
    try:
        return await reader.fetch(key)
    except TransientError as error:
        return error


async def test_emails_wait_side_by_side_and_leave_nothing_behind(
    reader: EmailImageReader, s3: FrozenS3
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
    reader: EmailImageReader, s3: FrozenS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trickle(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            time.sleep(_BOUND_SECONDS / 10)
            return b"."

        read1 = read

    answer = HTTPResponse(Trickle(), preload_content=False)
    monkeypatch.setattr(s3, "get_object", lambda *_: answer)
    began = time.monotonic()
    with pytest.raises(TransientError, match="too slow"):
        reader._fetch("slow")
    assert time.monotonic() - began < 10 * _BOUND_SECONDS


def test_what_is_too_large_for_mail_is_left_out(
    reader: EmailImageReader, s3: FrozenS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size, expected in ((2 * 1024 * 1024, True), (2 * 1024 * 1024 + 1, False)):
        answer = HTTPResponse(BytesIO(bytes(size)), preload_content=False)
        monkeypatch.setattr(s3, "get_object", lambda *_, answer=answer: answer)
        image = reader._fetch("large")
        assert (image == bytes(size)) is expected

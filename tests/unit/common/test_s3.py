"""S3's responses and errors, and how the service interprets them."""

from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from minio import Minio
from minio.error import S3Error
from urllib3 import HTTPResponse
from urllib3.exceptions import MaxRetryError

from common.errors import TransientError
from common.s3 import RefusedRemoval, S3Bucket, S3FullError, S3UnavailableError
from common.settings import S3Settings

SETTINGS = S3Settings.model_validate(
    {"s3_secret_key": "unused", "s3_public_endpoint": "https://images.example"}
)


def _fault(code: str, status: int) -> S3Error:
    response = HTTPResponse(status=status)
    return S3Error(response, code, f"{code}!", None, None, None)


def _bucket(monkeypatch: pytest.MonkeyPatch, method: str, answer: Any) -> S3Bucket:
    def call(self: Minio, *arguments: object, **options: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Minio, method, call)
    return S3Bucket(SETTINGS, read_seconds=1, connections=1)


def test_an_object_that_is_not_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _bucket(monkeypatch, "get_object", _fault("NoSuchKey", 404)).get("a") is None


def test_a_refusal_carries_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = _bucket(monkeypatch, "get_object", _fault("AccessDenied", 403))
    with pytest.raises(S3UnavailableError, match="AccessDenied") as refused:
        bucket.get("a")
    assert (refused.value.code, refused.value.kind) == ("AccessDenied", "S3Error")


def test_a_lost_connection_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = MaxRetryError(None, "/", None)  # type: ignore[arg-type] # no pool
    bucket = _bucket(monkeypatch, "put_object", lost)
    with pytest.raises(TransientError) as fault:
        bucket.put("a", b"", "image/jpeg")
    assert isinstance(fault.value, S3UnavailableError)
    assert (fault.value.code, fault.value.kind) == ("", "MaxRetryError")


@pytest.mark.parametrize(("max_bytes", "expected"), [(3, b"abc"), (2, None), (None, b"abc")])
def test_an_object_is_read_with_what_was_noted_of_it(
    monkeypatch: pytest.MonkeyPatch, max_bytes: int | None, expected: bytes | None
) -> None:
    noted = {"ETag": "e", "X-Amz-Meta-Width": "640", "content-type": "image/jpeg"}
    answer = HTTPResponse(BytesIO(b"abc"), headers=noted, preload_content=False)
    found = _bucket(monkeypatch, "get_object", answer).get("a", max_bytes=max_bytes)
    assert (found.data if found else None) == expected
    assert found is None or (found.etag, found.metadata) == ("e", {"width": "640"})


def test_a_refused_call_refuses_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = _bucket(monkeypatch, "remove_objects", _fault("AccessDenied", 403))
    assert bucket.remove_many(["a"]) == [RefusedRemoval("a", "AccessDenied")]
    bucket = _bucket(monkeypatch, "remove_objects", _fault("SlowDown", 503))
    with pytest.raises(S3UnavailableError):
        bucket.remove_many(["a"])


def test_links_are_signed_for_the_public_address() -> None:
    bucket = S3Bucket(SETTINGS, read_seconds=1, connections=1)
    link = bucket.link("a/b.jpg", timedelta(hours=1), "image/jpeg")
    assert link.startswith("https://images.example/platestream/a/b.jpg?")
    assert "X-Amz-Expires=3600" in link
    assert "response-content-type=image%2Fjpeg" in link


@pytest.mark.parametrize(
    ("code", "status", "is_full"),
    [
        ("XMinioStorageFull", 507, True),
        ("QuotaExceeded", 403, True),
        ("SlowDown", 503, False),
        ("AccessDenied", 403, False),
    ],
)
def test_no_room_is_no_outage(
    monkeypatch: pytest.MonkeyPatch, code: str, status: int, is_full: bool
) -> None:
    bucket = _bucket(monkeypatch, "put_object", _fault(code, status))

    with pytest.raises(S3UnavailableError) as refused:
        bucket.put("a.jpg", b"", "image/jpeg")

    assert isinstance(refused.value, S3FullError) is is_full

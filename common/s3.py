"""Stores all images in a bucket. No other module accesses S3. Calls block, and can time out."""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.deleteobjects import DeleteObject
from minio.error import MinioException, S3Error

from common.errors import TransientError
from common.settings import S3Settings

_MISSING_CODES: Final = frozenset({"NoSuchKey", "NoSuchObject", "ResourceNotFound"})
"""Error codes of S3 services for a missing object."""

_FULL_CODES: Final = frozenset(
    {"XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded"}
)
"""Error codes of S3 services when storage is full."""

_CONNECT_SECONDS: Final = 2.0
_PIECE_BYTES: Final = 64 * 1024
_METADATA_PREFIX: Final = "x-amz-meta-"


class S3UnavailableError(TransientError):
    """S3 is not responding, or rejects a call for a reason that the server administrator can fix.

    ``code`` is the S3 error code, or empty; ``kind`` is the type of error, for logs.
    """

    def __init__(self, fault: Exception) -> None:
        super().__init__(str(fault))
        self.code = (fault.code or "") if isinstance(fault, S3Error) else ""
        self.kind = type(fault).__name__


class S3FullError(S3UnavailableError):
    """S3 has no free space for an object. All other calls still work."""


@dataclass(frozen=True)
class StoredObject:
    """An object's bytes, and its ETag without quotes. The keys of ``metadata`` are lower case."""

    data: bytes
    etag: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RefusedRemoval:
    """An object that S3 refused to remove, and the error code."""

    key: str
    code: str


class S3Bucket:
    """The configured bucket. Connects on the first call. Thread-safe.

    Calls raise :class:`S3UnavailableError` if S3 does not respond, or rejects the call.
    """

    def __init__(
        self, settings: S3Settings, *, read_seconds: float, connections: int, retries: int = 0
    ) -> None:
        """A call fails after 2 s without a connection, or ``read_seconds`` without data.

        ``retries`` is for the few callers that do not retry a failed call themselves.
        """
        self._name = settings.s3_bucket
        self._connections = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read_seconds),
            maxsize=connections,
            retries=urllib3.Retry(total=retries, backoff_factor=0.1),
        )
        self._client = self._client_of(settings, settings.s3_endpoint)
        # A signature includes the host, so URLs must be signed for the public endpoint.
        self._public = self._client_of(
            settings, settings.s3_public_endpoint or settings.s3_endpoint
        )

    def _client_of(self, settings: S3Settings, endpoint: str) -> Minio:
        parts = urlsplit(endpoint)
        return Minio(
            parts.netloc,
            access_key=settings.s3_access_key,
            secret_key=settings.s3_secret_key.get_secret_value(),
            secure=parts.scheme == "https",
            # Otherwise, the client would request the region from the server.
            region=settings.s3_region,
            http_client=self._connections,
        )

    def link(self, key: str, validity: timedelta, content_type: str) -> str:
        """Return a presigned URL of the object that is valid for ``validity``. Makes no request."""
        return self._public.presigned_get_object(
            self._name,
            key,
            expires=validity,
            response_headers={"response-content-type": content_type},
        )

    def exists(self) -> bool:
        """Return whether the bucket exists."""
        with _faults():
            return self._client.bucket_exists(self._name)

    def make(self) -> None:
        """Create the bucket."""
        with _faults():
            self._client.make_bucket(self._name)

    def set_policy(self, policy: str) -> None:
        """Set the bucket's policy (JSON): the permissions of users other than its owner."""
        with _faults():
            self._client.set_bucket_policy(self._name, policy)

    def put(
        self, key: str, data: bytes, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Store an object, replacing any object with the same key.

        Raises:
            S3FullError: there is no free space.
            S3UnavailableError: S3 did not accept the object.
        """
        with _faults():
            self._client.put_object(
                self._name,
                key,
                io.BytesIO(data),
                len(data),
                content_type=content_type,
                metadata=dict(metadata) if metadata else None,
            )

    def get(
        self, key: str, *, max_bytes: int | None = None, within_seconds: float | None = None
    ) -> StoredObject | None:
        """Return an object, or None if it does not exist or exceeds ``max_bytes``.

        ``within_seconds`` limits the whole body. The connection's own timeout applies to each
        piece, so a server that sends single bytes could block the thread for hours.
        """
        try:
            with _faults():
                response = self._client.get_object(self._name, key)
                try:
                    data = _read(response, max_bytes, within_seconds)
                finally:
                    response.close()
                    response.release_conn()
        except S3UnavailableError as error:
            if error.code in _MISSING_CODES:
                return None
            raise
        if data is None:
            return None
        etag = response.headers.get("etag", "").strip('"')
        return StoredObject(data, etag, _metadata(response.headers))

    def describe(self, key: str) -> StoredObject | None:
        """Return an object without its bytes, or None if it does not exist."""
        try:
            with _faults():
                found = self._client.stat_object(self._name, key)
        except S3UnavailableError as error:
            if error.code in _MISSING_CODES:
                return None
            raise
        return StoredObject(b"", (found.etag or "").strip('"'), _metadata(found.metadata or {}))

    def has(self, key: str) -> bool:
        """Return whether an object exists."""
        return self.describe(key) is not None

    def folders(self, prefix: str) -> list[str]:
        """Return the direct subfolders of a folder (all names end with ``/``)."""
        with _faults():
            found = self._client.list_objects(self._name, prefix)
            return [one.object_name for one in found if one.is_dir and one.object_name]

    def keys(self, prefix: str) -> Iterator[str]:
        """Return the keys with this prefix, at any depth, fetched as they are consumed."""
        with _faults():
            for one in self._client.list_objects(self._name, prefix, recursive=True):
                if one.object_name:
                    yield one.object_name

    def remove(self, key: str) -> None:
        """Remove an object, or do nothing if it does not exist."""
        with _faults():
            self._client.remove_object(self._name, key)

    def remove_many(self, keys: Sequence[str]) -> list[RefusedRemoval]:
        """Remove at most a thousand objects in one call. Return those that S3 did not remove.

        Missing objects are ignored."""
        wanted = [DeleteObject(key) for key in keys]
        with _faults():
            try:
                faults = list(self._client.remove_objects(self._name, wanted))
            except S3Error as error:
                if error.response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
                return [RefusedRemoval(key, error.code or "") for key in keys]
        return [RefusedRemoval(fault.name or "", fault.code) for fault in faults]

    def close(self) -> None:
        """Close the connections. Call this only when no other call is running."""
        self._connections.clear()


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except (MinioException, urllib3.exceptions.HTTPError, OSError) as error:
        is_full = isinstance(error, S3Error) and error.code in _FULL_CODES
        raise (S3FullError if is_full else S3UnavailableError)(error) from error


def _read(
    response: urllib3.BaseHTTPResponse, max_bytes: int | None, within_seconds: float | None
) -> bytes | None:
    """Return the body, or None as soon as the body exceeds ``max_bytes``.

    Raises:
        TimeoutError: reading took longer than ``within_seconds``.
    """
    if max_bytes is None and within_seconds is None:
        return response.read()
    deadline = None if within_seconds is None else time.monotonic() + within_seconds
    body = bytearray()
    while piece := response.read1(_PIECE_BYTES):
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("read timed out")
        body += piece
        if max_bytes is not None and len(body) > max_bytes:
            return None
    return bytes(body)


def _metadata(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name.lower().removeprefix(_METADATA_PREFIX): value
        for name, value in headers.items()
        if name.lower().startswith(_METADATA_PREFIX)
    }

"""The bucket of all images: the one adapter for S3 services. Calls block, each with time-outs."""

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
"""Codes of S3 services for an object that is not there."""

_FULL_CODES: Final = frozenset(
    {"XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded"}
)
"""Codes of S3 services for an object that finds no room."""

_CONNECT_SECONDS: Final = 2.0
_PIECE_BYTES: Final = 64 * 1024
_METADATA_PREFIX: Final = "x-amz-meta-"


class S3UnavailableError(TransientError):
    """S3 does not answer, or refuses a call, which an operator can mend.

    ``code`` is S3's own, empty where it gave none; ``kind`` names the fault for a log.
    """

    def __init__(self, fault: Exception) -> None:
        super().__init__(str(fault))
        self.code = (fault.code or "") if isinstance(fault, S3Error) else ""
        self.kind = type(fault).__name__


class S3FullError(S3UnavailableError):
    """S3 has no room for an object. It answers, and all else goes on."""


@dataclass(frozen=True)
class StoredObject:
    """An object's bytes, and its ETag without quotes. The keys of ``metadata`` are lower case."""

    data: bytes
    etag: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RefusedRemoval:
    """An object that S3 does not remove, with its code for the reason."""

    key: str
    code: str


class S3Bucket:
    """The bucket of the settings. It connects at the first call. Thread-safe.

    Calls raise :class:`S3UnavailableError` if S3 does not answer, or refuses them.
    """

    def __init__(
        self, settings: S3Settings, *, read_seconds: float, connections: int, retries: int = 0
    ) -> None:
        """A call gives up after 2 s without a connection or ``read_seconds`` of silence.

        Most callers retry by themselves, and want to know that they do: ``retries`` is for those
        that don't.
        """
        self._name = settings.s3_bucket
        self._connections = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read_seconds),
            maxsize=connections,
            retries=urllib3.Retry(total=retries, backoff_factor=0.1),
        )
        self._client = self._client_of(settings, settings.s3_endpoint)
        # The host is part of a signature, so links are signed by a client of the public address.
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
            # Named, because the client would ask the server for it otherwise.
            region=settings.s3_region,
            http_client=self._connections,
        )

    def link(self, key: str, validity: timedelta, content_type: str) -> str:
        """Return a URL that shows the object for that long. Pure arithmetic: no call is made."""
        return self._public.presigned_get_object(
            self._name,
            key,
            expires=validity,
            response_headers={"response-content-type": content_type},
        )

    def exists(self) -> bool:
        """Return whether the bucket is there."""
        with _faults():
            return self._client.bucket_exists(self._name)

    def make(self) -> None:
        """Make the bucket."""
        with _faults():
            self._client.make_bucket(self._name)

    def set_policy(self, policy: str) -> None:
        """Set the bucket's policy (JSON), which says what users other than its owner may do."""
        with _faults():
            self._client.set_bucket_policy(self._name, policy)

    def put(
        self, key: str, data: bytes, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Store an object; the same key again overwrites it.

        Raises:
            S3FullError: there is no room for it.
            S3UnavailableError: S3 does not take it.
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
        """Return an object, None where there is none or it has more than ``max_bytes``.

        ``within_seconds`` is for the whole body: the connection's own time-out is for each piece,
        and a server that gives a byte now and then would hold the thread for hours.
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
        """Return an object without its bytes, None where there is none."""
        try:
            with _faults():
                found = self._client.stat_object(self._name, key)
        except S3UnavailableError as error:
            if error.code in _MISSING_CODES:
                return None
            raise
        return StoredObject(b"", (found.etag or "").strip('"'), _metadata(found.metadata or {}))

    def has(self, key: str) -> bool:
        """Return whether there is an object."""
        return self.describe(key) is not None

    def folders(self, prefix: str) -> list[str]:
        """Return the folders directly below a folder (it and they end with ``/``)."""
        with _faults():
            found = self._client.list_objects(self._name, prefix)
            return [one.object_name for one in found if one.is_dir and one.object_name]

    def keys(self, prefix: str) -> Iterator[str]:
        """Return the keys that begin so, at any depth, asked for as they are consumed."""
        with _faults():
            for one in self._client.list_objects(self._name, prefix, recursive=True):
                if one.object_name:
                    yield one.object_name

    def remove(self, key: str) -> None:
        """Remove an object; one that is not there is no fault."""
        with _faults():
            self._client.remove_object(self._name, key)

    def remove_many(self, keys: Sequence[str]) -> list[RefusedRemoval]:
        """Remove at most a thousand objects in one call, and return those that S3 refuses.

        One that is not there is no fault."""
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
        """Close the connections; no call is under way any more."""
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
    """Return the body, None as soon as it is longer than ``max_bytes``.

    Raises:
        TimeoutError: it takes longer than ``within_seconds``.
    """
    if max_bytes is None and within_seconds is None:
        return response.read()
    deadline = None if within_seconds is None else time.monotonic() + within_seconds
    body = bytearray()
    while piece := response.read1(_PIECE_BYTES):
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("too slow")
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

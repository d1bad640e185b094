"""S3 clients set up alike: address, keys and bounded waits from the settings. No I/O here."""

from typing import Final
from urllib.parse import urlsplit

import urllib3
from minio import Minio

from contracts.settings import S3Settings

MISSING_CODES: Final = frozenset({"NoSuchKey", "NoSuchObject", "ResourceNotFound"})
"""What S3 services say of an object that is not there."""

_CONNECT_SECONDS = 2.0


def s3_connections(
    *, read_seconds: float, connections: int, retries: int = 0
) -> urllib3.PoolManager:
    """Return connections that give up: after 2 s without a connection, ``read_seconds`` of silence.

    Callers retry by themselves, and want to know that they do: ``retries`` is for those that don't.
    """
    return urllib3.PoolManager(
        timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read_seconds),
        maxsize=connections,
        retries=urllib3.Retry(total=retries, backoff_factor=0.1),
    )


def s3_client(
    settings: S3Settings, connections: urllib3.PoolManager, endpoint: str | None = None
) -> Minio:
    """Return a client for the service at ``endpoint``, by default the one that processes see.

    It connects at the first call.
    """
    parts = urlsplit(endpoint or settings.s3_endpoint)
    return Minio(
        parts.netloc,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key.get_secret_value(),
        secure=parts.scheme == "https",
        # Named, because the client would ask the server for it otherwise.
        region=settings.s3_region,
        http_client=connections,
    )

"""S3 for tests: one server per test run, and a separate bucket for each test."""

import uuid
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from minio import Minio

from common.settings import S3Settings, load_settings
from deploy.local.ports import free_ports
from deploy.local.servers.s3 import S3Server
from tests.services.addresses import GivenServers
from tests.services.process import ServerProcess

_ACCESS_KEY = "tests"
_SECRET_KEY = "for-tests-only"


def s3_process(directory: Path) -> ServerProcess:
    """Return a server that has not been started, for a test that kills or freezes the server."""
    (port,) = free_ports(1)
    server = S3Server(
        directory=directory / "s3",
        port=port,
        access_key=_ACCESS_KEY,
        secret_key=_SECRET_KEY,
    )
    return ServerProcess(server, directory / "logs")


def settings_of(process: ServerProcess) -> S3Settings:
    """Return the settings of a server and its bucket."""
    assert isinstance(process.server, S3Server)
    return _settings(process.server.endpoint, _ACCESS_KEY, _SECRET_KEY)


def s3_client(settings: S3Settings) -> Minio:
    """Return a client with which a test can inspect the objects of the tested code."""
    endpoint = urlsplit(settings.s3_endpoint)
    return Minio(
        endpoint.netloc,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key.get_secret_value(),
        region=settings.s3_region,
        secure=endpoint.scheme == "https",
    )


@pytest.fixture(scope="session")
def s3_server(services_directory: Path) -> Iterator[S3Settings]:
    """Settings of the test run's server, with a bucket that does not exist."""
    given = load_settings(GivenServers)
    if given.s3_endpoint is not None:
        yield _settings(
            given.s3_endpoint, given.s3_access_key, given.s3_secret_key.get_secret_value()
        )
        return
    with s3_process(services_directory) as process:
        yield settings_of(process)


def _settings(endpoint: str, access_key: str, secret_key: str) -> S3Settings:
    return S3Settings.model_validate(
        {"s3_endpoint": endpoint, "s3_access_key": access_key, "s3_secret_key": secret_key}
    )


class _FullStore(BaseHTTPRequestHandler):
    """Responds like MinIO on a full disk: the bucket exists, and no object is accepted."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(HTTPStatus.OK)

    def do_GET(self) -> None:
        self._answer(HTTPStatus.NOT_FOUND, b"<Error><Code>NoSuchKey</Code></Error>")

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        full = b"<Error><Code>XMinioStorageFull</Code></Error>"
        self._answer(HTTPStatus.INSUFFICIENT_STORAGE, full)

    def log_message(self, *_: object) -> None:
        """Do not log requests."""

    def _answer(self, status: HTTPStatus, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def full_s3_server() -> Iterator[S3Settings]:
    """Settings of a server that has no space for any object, as on a full disk."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _FullStore) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield _settings(f"http://127.0.0.1:{server.server_port}", _ACCESS_KEY, _SECRET_KEY)
        server.shutdown()
        thread.join()


@pytest.fixture
def s3_settings(s3_server: S3Settings) -> S3Settings:
    """Settings of a new, empty bucket."""
    return fresh_bucket(s3_server)


def fresh_bucket(s3_server: S3Settings) -> S3Settings:
    settings = s3_server.model_copy(update={"s3_bucket": f"test-{uuid.uuid4().hex[:12]}"})
    s3_client(settings).make_bucket(settings.s3_bucket)
    return settings


def left(settings: S3Settings) -> set[str | None]:
    """Return the keys of the objects in the bucket."""
    found = s3_client(settings).list_objects(settings.s3_bucket, recursive=True)
    return {one.object_name for one in found}

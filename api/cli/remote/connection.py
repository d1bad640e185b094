"""The way from the command line to an API, here or elsewhere: address, key, errors as lines."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import typer
import urllib3
from urllib3.util import Retry, Timeout

from api.cli.commands import fail
from common.errors import EXIT_MISCONFIGURED

_ADDRESS: Final = "PLATESTREAM_URL"
_KEY: Final = "PLATESTREAM_KEY"
_LOCAL_ACCESS: Final = Path(".local/access.json")
"""Where a local stack leaves address and key of its demo account."""
MAX_PAGE: Final = 200
"""The longest page of any list."""

_FIRST_ERROR: Final = 400
_TIME: Final = Timeout(connect=5, read=60)
# Reads are sent again; what may have changed something is not, but where the API says so itself.
_RETRIES: Final = Retry(
    total=3,
    backoff_factor=0.5,
    status_forcelist=(429, 503),
    allowed_methods={"GET"},
    raise_on_status=False,
    retry_after_max=60,
)

Json = dict[str, Any]
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class RefusedError(Exception):
    """The API's answer that something is not done."""

    status: int
    code: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


class RemoteApi:
    """The API under one address, asked with one key."""

    def __init__(self, address: str, key: str) -> None:
        self.address = address.rstrip("/")
        self._pool = urllib3.PoolManager(
            headers={"Authorization": f"Bearer {key}", "User-Agent": "platestream"},
            retries=_RETRIES,
            timeout=_TIME,
        )

    def get(self, path: str, **query: Any) -> Json:
        """Return the answer to a GET; a query's ``None`` is left out."""
        return self._json(self._send("GET", path, fields=_given(query)))

    def post(self, path: str, body: Any = None, **query: Any) -> Json:
        """Return the answer to a POST of JSON, or of bytes as they are."""
        return self._json(self._send("POST", _with(path, query), **_body(body)))

    def read_csv(self, path: str, data: bytes, encoding: str | None) -> Json:
        """Return the answer to a POST of a CSV file."""
        headers = {"Content-Type": "text/csv"}
        address = _with(path, {"encoding": encoding})
        return self._json(self._send("POST", address, body=data, headers=headers))

    def put(self, path: str, body: Fields) -> Json:
        """Return the answer to a PUT of JSON."""
        return self._json(self._send("PUT", path, **_body(body)))

    def delete(self, path: str) -> Json:
        """Return the answer to a DELETE."""
        return self._json(self._send("DELETE", path))

    def download(self, path: str) -> bytes:
        """Return what is not JSON."""
        return bytes(self._send("GET", path).data)

    def every(self, path: str, name: str, *, page: int = MAX_PAGE, **query: Any) -> Iterator[Json]:
        """Return all entries of a list, asked for in pages of ``page`` entries."""
        last: str | None = None
        while True:
            found = self.get(path, limit=page, lastKey=last, **query)
            yield from found[name]
            last = found.get("nextKey")
            if not last:
                return

    def stream(self, path: str, last_event_id: str | None, **query: Any) -> Iterator[bytes]:
        """Return the lines of an answer that does not end."""
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        answer = self._send(
            "GET", path, fields=_given(query), headers=headers, preload_content=False
        )
        try:
            yield from answer
        finally:
            answer.close()

    def clock(self) -> datetime | None:
        """Return the time of the service's clock, or None if it does not send it.

        Raises:
            RefusedError: the address is not that of a Platestream API.
        """
        answer = self._pool.request("GET", f"{self.address}/healthz", retries=False)
        if self._json(answer).get("status") != "ok":
            raise RefusedError(answer.status, "", f"{self.address} is not a Platestream API")
        date = answer.headers.get("Date")
        return parsedate_to_datetime(date) if date else None

    def _send(self, method: str, path: str, **how: Any) -> urllib3.BaseHTTPResponse:
        headers = {**self._pool.headers, **how.pop("headers", {})}
        answer = self._pool.request(
            method, self.address + path, headers=headers, redirect=False, **how
        )
        if answer.status >= _FIRST_ERROR:
            raise _refusal(answer)
        return answer

    def _json(self, answer: urllib3.BaseHTTPResponse) -> Json:
        if not answer.data:
            return {}
        try:
            found: Json = json.loads(answer.data)
        except ValueError as error:
            raise RefusedError(
                answer.status, "", f"{self.address} is not a Platestream API"
            ) from error
        return found


@contextmanager
def connected() -> Iterator[RemoteApi]:
    """Give the API that the environment names; what it refuses ends the command."""
    address, key = _access()
    try:
        yield RemoteApi(address, key)
    except RefusedError as refusal:
        fail(_sentence(refusal), refusal)
    except urllib3.exceptions.HTTPError as error:
        fail(f"{address} does not answer ({_reason(error)})", error)


def _access() -> tuple[str, str]:
    local = _local_access()
    address = os.environ.get(_ADDRESS) or local.get("baseUrl", "")
    # Another address never gets the key of the local stack.
    is_local = address == local.get("baseUrl")
    key = os.environ.get(_KEY) or (local["apiKey"] if is_local else "")
    missing = [name for name, value in ((_ADDRESS, address), (_KEY, key)) if not value]
    if missing:
        typer.echo(
            f"error: the environment lacks {' and '.join(missing)}: the API's address and one of"
            " your keys (in the folder of a local stack they are found by themselves)",
            err=True,
        )
        raise typer.Exit(EXIT_MISCONFIGURED)
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        fail(f"{_ADDRESS} must begin with http:// or https://")
    return address, key


def _local_access() -> Mapping[str, str]:
    try:
        found: Mapping[str, str] = json.loads(_LOCAL_ACCESS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _given(query: Fields) -> dict[str, str]:
    return {name: str(value) for name, value in query.items() if value is not None}


def _with(path: str, query: Fields) -> str:
    given = _given(query)
    return f"{path}?{urlencode(given)}" if given else path


def _body(body: Any) -> dict[str, Any]:
    if isinstance(body, bytes):
        return {"body": body, "headers": {"Content-Type": "application/octet-stream"}}
    return {"json": {} if body is None else body}


def _refusal(answer: urllib3.BaseHTTPResponse) -> RefusedError:
    try:
        said = json.loads(answer.data)
        faults = [f"{fault['path']} {fault['message']}" for fault in said.get("fields", ())]
        sentence = "; ".join([said["error"].rstrip("."), *faults])
        return RefusedError(answer.status, said["code"], sentence)
    except (ValueError, KeyError, TypeError):
        return RefusedError(answer.status, "", f"the answer was HTTP {answer.status}")


def _sentence(refusal: RefusedError) -> str:
    return f"{refusal} ({refusal.code})" if refusal.code else str(refusal)


def _reason(error: Exception) -> str:
    cause = getattr(error, "reason", error)
    return str(cause).rpartition(": ")[2] or type(cause).__name__

"""Connects the command line to an API: finds the URL and API key, and prints errors."""

import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import typer
from platestream_client import ApiError, Client, RetryPolicy, UnreachableError

from api.cli.commands import fail
from common.errors import EXIT_MISCONFIGURED

_URL: Final = "PLATESTREAM_URL"
_KEY: Final = "PLATESTREAM_KEY"
_LOCAL_ACCESS: Final = Path(".local/access.json")
"""File in which a local stack stores the URL and API key of its demo account."""
_SECONDS: Final = 60.0

Json = dict[str, Any]


@contextmanager
def connected(retries: RetryPolicy | None = None) -> Iterator[Client]:
    """Yield a client for the configured API. An API error ends the command.

    The client verifies certificates against the system's trust store, and uses no proxy.
    """
    url, key = _access()
    transport = httpx.HTTPTransport(verify=ssl.create_default_context())
    try:
        with Client(url, key, timeout=_SECONDS, retries=retries, transport=transport) as client:
            yield client
    except ApiError as error:
        code = "" if error.code == "unknown" else f" ({error.code})"
        fail(sentence(error) + code, error)
    except UnreachableError as error:
        fail(f"{url} is not responding ({error.__cause__})", error)


def sentence(error: ApiError) -> str:
    """Return the API's message and field errors for a rejected call, without a full stop."""
    faults = (f"{fault['path']} {fault['message']}" for fault in error.fields)
    return "; ".join([error.sentence.rstrip("."), *faults])


def _access() -> tuple[str, str]:
    local = _local_access()
    url = os.environ.get(_URL) or local.get("baseUrl", "")
    # The key of the local stack is never sent to another URL.
    is_local = url == local.get("baseUrl")
    key = os.environ.get(_KEY) or (local["apiKey"] if is_local else "")
    missing = [name for name, value in ((_URL, url), (_KEY, key)) if not value]
    if missing:
        typer.echo(
            f"error: set {' and '.join(missing)} to access the API, or run the command in the"
            " folder of a local stack",
            err=True,
        )
        raise typer.Exit(EXIT_MISCONFIGURED)
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        fail(f"{_URL} must begin with http:// or https://")
    return url, key


def _local_access() -> Mapping[str, str]:
    try:
        found: Mapping[str, str] = json.loads(_LOCAL_ACCESS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found

"""The connection of the command line to an API: its address, its key, and errors as sentences."""

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

_ADDRESS: Final = "PLATESTREAM_URL"
_KEY: Final = "PLATESTREAM_KEY"
_LOCAL_ACCESS: Final = Path(".local/access.json")
"""Where a local stack stores the address and the key of its demo account."""
_SECONDS: Final = 60.0

Json = dict[str, Any]


@contextmanager
def connected(retries: RetryPolicy | None = None) -> Iterator[Client]:
    """Yield a client of the API that the environment names; an error of the API ends the command.

    Certificates are checked against those of the system, and no proxy is used.
    """
    address, key = _access()
    transport = httpx.HTTPTransport(verify=ssl.create_default_context())
    try:
        with Client(address, key, timeout=_SECONDS, retries=retries, transport=transport) as client:
            yield client
    except ApiError as error:
        code = "" if error.code == "unknown" else f" ({error.code})"
        fail(sentence(error) + code, error)
    except UnreachableError as error:
        fail(f"{address} does not answer ({error.__cause__})", error)


def sentence(error: ApiError) -> str:
    """Return what the API says about a rejected call."""
    faults = (f"{fault['path']} {fault['message']}" for fault in error.fields)
    return "; ".join([error.sentence.rstrip("."), *faults])


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

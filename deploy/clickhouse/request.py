"""Decodes HTTP requests according to ClickHouse's conventions."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl
from uuid import uuid4

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.statement import DEFAULT_FORMAT

# Names of URL parameters that the HTTP interface handles. All others are engine settings.
_OF_THE_INTERFACE = frozenset(
    (
        *("query", "database", "default_format", "query_id", "user", "password", "role"),
        *("session_id", "session_timeout", "session_check", "close_session", "quota_key"),
        *("compress", "decompress", "buffer_size", "wait_end_of_query", "stacktrace"),
        *("client_protocol_version", "enable_http_compression"),
    )
)
_TRUE = ("1", "true")
# First protocol version with a different column format. clickhouse-connect uses an older version.
_CUSTOM_SERIALIZATION = "54454"


@dataclass(frozen=True)
class QueryRequest:
    """A request's statement and its context, from the URL and header fields."""

    query: str
    """The statement in the URL, or the first part of a statement that continues in the body."""
    database: str
    default_format: str
    query_id: str
    settings: Mapping[str, str]
    parameters: Mapping[str, str]
    """Values of the ``{name:Type}`` parameters, in ClickHouse's escaped text format."""
    content_encoding: str
    content_type: str
    is_read_only: bool
    ends_with_client: bool
    """Whether the query is killed if the client disconnects."""
    tag: str
    """Unique name with which the query can be killed."""
    is_framed: bool
    """Whether the response is sent in ClickHouse's compressed frames."""
    only_reads: bool = False
    """Whether the query comes from the analyst, so that it can only read."""


def parse_request(method: str, query_string: bytes, headers: Mapping[str, str]) -> QueryRequest:
    """Return the request in a URL and header fields, whose names are in lower case.

    Raises:
        ClickHouseError: the request uses a feature that this server does not support.
    """
    fields = _fields(query_string)
    version = fields.get("client_protocol_version", "")
    if version >= _CUSTOM_SERIALIZATION or fields.get("decompress", "").lower() in _TRUE:
        raise ClickHouseError.of(
            ErrorCode.NOT_IMPLEMENTED,
            "The embedded server does not support clickhouse-go: use a real ClickHouse server",
        )
    return QueryRequest(
        query=fields.get("query", ""),
        database=fields.get("database") or headers.get("x-clickhouse-database", ""),
        default_format=fields.get("default_format")
        or headers.get("x-clickhouse-format")
        or DEFAULT_FORMAT,
        query_id=fields.get("query_id") or str(uuid4()),
        settings={
            name: value
            for name, value in fields.items()
            if name not in _OF_THE_INTERFACE and not name.startswith("param_")
        },
        parameters=_parameters(fields),
        content_encoding=headers.get("content-encoding", "").strip().lower(),
        content_type=headers.get("content-type", ""),
        is_read_only=method == "GET",
        tag=uuid4().hex,
        ends_with_client=fields.get("cancel_http_readonly_queries_on_client_close") == "1",
        is_framed=fields.get("compress", "").lower() in _TRUE,
    )


def _fields(query_string: bytes) -> dict[str, str]:
    return dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))


def _parameters(fields: Mapping[str, str]) -> dict[str, str]:
    found = ((name.partition("param_"), value) for name, value in fields.items())
    return {name: value for (start, prefix, name), value in found if prefix and not start}


def parse_form(content_type: str, body: bytes) -> tuple[str, dict[str, str]]:
    """Return the statement and parameters of a multipart form.

    Raises:
        ClickHouseError: the form contains a file (external data), or is malformed.
    """
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise ClickHouseError.of(ErrorCode.BAD_ARGUMENTS, "The multipart form is malformed")
    fields: dict[str, str] = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None or not isinstance(name, str):
            raise ClickHouseError.of(ErrorCode.NOT_IMPLEMENTED, "External data is not supported")
        payload = part.get_payload(decode=True)
        fields[name] = payload.decode("utf-8") if isinstance(payload, bytes) else ""
    return fields.get("query", ""), _parameters(fields)


def credentials_of(query_string: bytes, headers: Mapping[str, str]) -> tuple[str, str]:
    """Return user and password from ``X-ClickHouse-User`` and ``-Key``, HTTP Basic, or the URL."""
    if "x-clickhouse-user" in headers or "x-clickhouse-key" in headers:
        return headers.get("x-clickhouse-user", ""), headers.get("x-clickhouse-key", "")
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        fields = _fields(query_string)
        return fields.get("user", ""), fields.get("password", "")
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password

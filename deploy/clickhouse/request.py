"""Decodes HTTP requests by ClickHouse's conventions."""

import base64
import binascii
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl
from uuid import uuid4

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.statement import DEFAULT_FORMAT

# Parameters of the HTTP interface itself: not settings of the engine.
_OF_THE_INTERFACE = frozenset(
    {
        "query",
        "database",
        "default_format",
        "query_id",
        "session_id",
        "session_timeout",
        "session_check",
        "close_session",
        "user",
        "password",
        "quota_key",
        "role",
        "compress",
        "decompress",
        "buffer_size",
        "wait_end_of_query",
        "client_protocol_version",
        "stacktrace",
    }
)
_PARAMETER_PREFIX = "param_"
_VERSION_DIGITS = 9


@dataclass(frozen=True)
class QueryRequest:
    """A statement's surroundings, from the address and the header fields of a request."""

    query: str
    """Statement, or its first part, from the address; the body follows it."""
    database: str
    default_format: str
    query_id: str
    settings: Mapping[str, str]
    parameters: Mapping[str, str]
    """Values of ``{name:Type}``, in ClickHouse's escaped text form."""
    waits_for_end: bool
    """True: the answer waits for the end of the query, as far as it fits."""
    content_encoding: str
    accept_encoding: str
    content_type: str
    is_read_only: bool
    tag: str
    """Names this request within the engine; unlike the query id it is never used twice."""
    ends_with_client: bool
    """True: the statement is ended when its client leaves."""
    protocol_version: int = 0
    """Version of the native protocol that blocks of the format Native are written for."""
    frames_answer: bool = False
    """True: the answer comes in ClickHouse's own compressed frames."""
    frames_body: bool = False
    """True: so does the body."""
    only_reads: bool = False
    """True for users who may only read."""
    owner: "OwnerRows | None" = None
    """The only rows that are read; None: all."""

    @property
    def is_form(self) -> bool:
        """True where the body is a multipart form that carries statement and parameters."""
        return self.content_type.lower().startswith("multipart/form-data")


@dataclass(frozen=True)
class OwnerRows:
    """A user's name, and the owner and the database of the rows that the user may read."""

    user: str
    user_id: str
    database: str


@dataclass(frozen=True)
class Credentials:
    """Name and password of a user of the server."""

    user: str
    password: str

    def admit(self, user: str, password: str) -> bool:
        """Compare in constant time."""
        same_user = hmac.compare_digest(user.encode(), self.user.encode())
        same_password = hmac.compare_digest(password.encode(), self.password.encode())
        return same_user and same_password


def parse_request(method: str, query_string: bytes, headers: Mapping[str, str]) -> QueryRequest:
    """Read a request's address and header fields (names in lower case).

    Raises:
        ClickHouseError: a wish that this server does not fulfil.
    """
    fields = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
    return QueryRequest(
        query=fields.get("query", ""),
        database=fields.get("database") or headers.get("x-clickhouse-database", ""),
        default_format=fields.get("default_format")
        or headers.get("x-clickhouse-format")
        or DEFAULT_FORMAT,
        query_id=fields.get("query_id") or str(uuid4()),
        settings=_settings(fields),
        parameters=_parameters(fields),
        waits_for_end=fields.get("wait_end_of_query") == "1",
        content_encoding=headers.get("content-encoding", "").strip().lower(),
        accept_encoding=_accept_encoding(fields, headers),
        content_type=headers.get("content-type", ""),
        is_read_only=method == "GET",
        tag=uuid4().hex,
        ends_with_client=fields.get("cancel_http_readonly_queries_on_client_close") == "1",
        protocol_version=_protocol_version(fields.get("client_protocol_version", "0")),
        frames_answer=_is_set(fields, "compress"),
        frames_body=_is_set(fields, "decompress"),
    )


def _is_set(fields: Mapping[str, str], name: str) -> bool:
    return fields.get(name, "").lower() in ("1", "true")


def _protocol_version(text: str) -> int:
    if not text.isdecimal() or len(text) > _VERSION_DIGITS:
        raise ClickHouseError.of(
            ErrorCode.CANNOT_PARSE_TEXT, "client_protocol_version is not a whole number"
        )
    return int(text)


def _settings(fields: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in fields.items()
        if name not in _OF_THE_INTERFACE and not name.startswith(_PARAMETER_PREFIX)
    }


def _parameters(fields: Mapping[str, str]) -> dict[str, str]:
    start = len(_PARAMETER_PREFIX)
    return {
        name[start:]: value for name, value in fields.items() if name.startswith(_PARAMETER_PREFIX)
    }


def _accept_encoding(fields: Mapping[str, str], headers: Mapping[str, str]) -> str:
    wanted = _is_set(fields, "enable_http_compression")
    return headers.get("accept-encoding", "") if wanted else ""


@dataclass(frozen=True)
class FormBody:
    """The text fields of a multipart form."""

    query: str
    parameters: Mapping[str, str]


def parse_form(content_type: str, body: bytes) -> FormBody:
    """Read statement and parameters out of a multipart form.

    Raises:
        ClickHouseError: the form carries a file (external data), or is not a form.
    """
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise ClickHouseError.of(ErrorCode.BAD_ARGUMENTS, "The multipart form is damaged")
    fields: dict[str, str] = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None or not isinstance(name, str):
            raise ClickHouseError.of(
                ErrorCode.NOT_IMPLEMENTED, "External data is not served by the embedded server"
            )
        payload = part.get_payload(decode=True)
        fields[name] = payload.decode("utf-8") if isinstance(payload, bytes) else ""
    return FormBody(fields.get("query", ""), _parameters(fields))


def credentials_of(query_string: bytes, headers: Mapping[str, str]) -> tuple[str, str]:
    """Return user and password: Basic, ``X-ClickHouse-User`` and ``-Key``, or in the address."""
    if "x-clickhouse-user" in headers or "x-clickhouse-key" in headers:
        return headers.get("x-clickhouse-user", ""), headers.get("x-clickhouse-key", "")
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        return _basic(encoded)
    fields = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
    return fields.get("user", ""), fields.get("password", "")


def _basic(encoded: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password

"""Every error that the API answers with: status, code and the one body shape.

``{"error": "...", "code": "...", "requestId": "..."}``; validation adds ``fields``, what can be
tried again after a while adds ``retryAfter``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TypeVar

from starlette.exceptions import HTTPException

from common.errors import PlatestreamError, TransientError

NO_ANSWER = "does not answer"


class Dependency(StrEnum):
    """A server that calls may need, in words for those who use the service and those who run it."""

    CONFIGURATION = "configuration database"
    """PostgreSQL: accounts, keys, cameras, alerts, webhooks, credits."""

    SEARCH = "search database"
    """ClickHouse: recognitions, counts, alerts that triggered, deliveries."""

    PICTURES = "picture store"
    """S3."""

    BROKER = "message broker"
    """Kafka."""

    IDENTITY_PROVIDER = "identity provider"
    """The OpenID Connect provider by which people log in."""


class DependencyUnavailableError(TransientError):
    """A dependency is unavailable, or too slow: the sentence names it and nothing of where or why.

    Why stands in ``__cause__``, which is for the log.
    """

    def __init__(self, dependency: Dependency, trouble: str = NO_ANSWER) -> None:
        """``trouble`` goes on after the dependency's name."""
        super().__init__(f"the {dependency} {trouble}")
        self.sentence = f"The {dependency} {trouble}; try again later."


_T = TypeVar("_T")

VARIANT = "\x00"
"""Begins the tags of the forms that a field may have: they are no part of its path in faults."""


class ErrorCode(StrEnum):
    """The stable words for programs; the only list of them."""

    INVALID_REQUEST = "invalid_request"
    INVALID_JSON = "invalid_json"
    INCOMPLETE_BODY = "incomplete_body"
    INVALID_CURSOR = "invalid_cursor"
    EMPTY_IMAGE = "empty_image"
    UNSUPPORTED_IMAGE = "unsupported_image"
    IMAGE_TOO_LARGE = "image_too_large"
    TRUNCATED_IMAGE = "truncated_image"
    UNREADABLE_IMAGE = "unreadable_image"
    UNREADABLE_FILE = "unreadable_file"
    MISSING_CREDENTIALS = "missing_credentials"
    INVALID_CREDENTIALS = "invalid_credentials"
    EXPIRED_CREDENTIALS = "expired_credentials"
    INSUFFICIENT_CREDITS = "insufficient_credits"
    MISSING_SCOPE = "missing_scope"
    BEYOND_OWN_EXPIRY = "beyond_own_expiry"
    CROSS_SITE_REQUEST = "cross_site_request"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    DUPLICATE_IDENTIFIER = "duplicate_identifier"
    LIMIT_REACHED = "limit_reached"
    LAST_ADMINISTRATOR = "last_administrator"
    PERSON_EXISTS = "person_exists"
    INVITATION_OVER = "invitation_over"
    INVITATION_FOR_ANOTHER = "invitation_for_another"
    LOG_IN_EXPIRED = "log_in_expired"
    LOG_IN_REFUSED = "log_in_refused"
    EMAIL_NOT_VERIFIED = "email_not_verified"
    EMAIL_DOMAIN_REFUSED = "email_domain_refused"
    UNKNOWN_PERSON = "unknown_person"
    PERSON_SWITCHED_OFF = "person_switched_off"
    BOUND_TO_ANOTHER = "bound_to_another"
    PASSWORD_LOG_IN_OFF = "password_log_in_off"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    IDEMPOTENCY_KEY_IN_USE = "idempotency_key_in_use"
    BODY_TOO_LARGE = "body_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    RATE_LIMITED = "rate_limited"
    TEMPORARILY_BLOCKED = "temporarily_blocked"
    TOO_MANY_STREAMS = "too_many_streams"
    SERVICE_BUSY = "service_busy"
    INTERNAL_ERROR = "internal_error"
    DEPENDENCY_UNAVAILABLE = "dependency_unavailable"
    RECOGNIZER_BUSY = "recognizer_busy"
    RECOGNIZER_TIMEOUT = "recognizer_timeout"
    AGENT_UNAVAILABLE = "agent_unavailable"


@dataclass(frozen=True)
class ErrorRule:
    """The HTTP status of a code, and its sentence where none says more."""

    status: HTTPStatus
    sentence: str


_BAD = HTTPStatus.BAD_REQUEST
_FORBIDDEN = HTTPStatus.FORBIDDEN
_FAULT = HTTPStatus.INTERNAL_SERVER_ERROR

ERROR_RULES: Mapping[ErrorCode, ErrorRule] = {
    ErrorCode.INVALID_REQUEST: ErrorRule(_BAD, "The request is not valid; see fields."),
    ErrorCode.INVALID_JSON: ErrorRule(_BAD, "The body is not a JSON object."),
    ErrorCode.INCOMPLETE_BODY: ErrorRule(_BAD, "The body did not arrive in full in time."),
    ErrorCode.INVALID_CURSOR: ErrorRule(
        _BAD, "lastKey is not a nextKey of this list with the same filters."
    ),
    ErrorCode.EMPTY_IMAGE: ErrorRule(_BAD, "The image is empty."),
    ErrorCode.UNSUPPORTED_IMAGE: ErrorRule(_BAD, "The image is neither a JPEG nor a PNG."),
    ErrorCode.IMAGE_TOO_LARGE: ErrorRule(_BAD, "The image has too many pixels."),
    ErrorCode.TRUNCATED_IMAGE: ErrorRule(_BAD, "The image ends too early."),
    ErrorCode.UNREADABLE_IMAGE: ErrorRule(_BAD, "The image cannot be read."),
    ErrorCode.UNREADABLE_FILE: ErrorRule(_BAD, "The file cannot be read as CSV."),
    ErrorCode.MISSING_CREDENTIALS: ErrorRule(
        HTTPStatus.UNAUTHORIZED, "Send an API key in the header: Authorization: Bearer pk_..."
    ),
    ErrorCode.INVALID_CREDENTIALS: ErrorRule(
        HTTPStatus.UNAUTHORIZED, "The API key is not valid or is switched off."
    ),
    ErrorCode.EXPIRED_CREDENTIALS: ErrorRule(HTTPStatus.UNAUTHORIZED, "The API key has expired."),
    ErrorCode.INSUFFICIENT_CREDITS: ErrorRule(
        HTTPStatus.PAYMENT_REQUIRED, "Insufficient credits: this call needs one credit."
    ),
    ErrorCode.MISSING_SCOPE: ErrorRule(
        HTTPStatus.FORBIDDEN, "The API key lacks a scope that this call needs."
    ),
    ErrorCode.BEYOND_OWN_EXPIRY: ErrorRule(
        HTTPStatus.FORBIDDEN, "A key cannot grant anything that lasts beyond its own expiresAt."
    ),
    ErrorCode.CROSS_SITE_REQUEST: ErrorRule(
        HTTPStatus.FORBIDDEN, "A session may change things only from pages of the same site."
    ),
    ErrorCode.NOT_FOUND: ErrorRule(HTTPStatus.NOT_FOUND, "There is nothing here."),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorRule(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "This path does not support this method; see the Allow header.",
    ),
    ErrorCode.DUPLICATE_IDENTIFIER: ErrorRule(
        HTTPStatus.CONFLICT, "A camera with the same identifier exists."
    ),
    ErrorCode.LIMIT_REACHED: ErrorRule(
        HTTPStatus.CONFLICT, "No more of these are allowed for this account."
    ),
    ErrorCode.LAST_ADMINISTRATOR: ErrorRule(
        HTTPStatus.CONFLICT, "Nobody else administers this account; make another person do first."
    ),
    ErrorCode.PERSON_EXISTS: ErrorRule(
        HTTPStatus.CONFLICT, "Somebody logs in with this e-mail address already."
    ),
    ErrorCode.INVITATION_OVER: ErrorRule(
        HTTPStatus.NOT_FOUND, "The invitation was used, was taken back or has expired."
    ),
    ErrorCode.INVITATION_FOR_ANOTHER: ErrorRule(
        _FORBIDDEN, "The invitation is for another e-mail address than the identity provider's."
    ),
    ErrorCode.LOG_IN_EXPIRED: ErrorRule(
        _BAD, "The log-in was begun in another browser, or over ten minutes ago; begin again."
    ),
    ErrorCode.LOG_IN_REFUSED: ErrorRule(
        _FORBIDDEN, "The identity provider's answer is not good; begin again."
    ),
    ErrorCode.EMAIL_NOT_VERIFIED: ErrorRule(
        _FORBIDDEN, "The identity provider has not verified the e-mail address."
    ),
    ErrorCode.EMAIL_DOMAIN_REFUSED: ErrorRule(
        _FORBIDDEN,
        "With an e-mail address of this domain nobody logs in by the identity provider here.",
    ),
    ErrorCode.UNKNOWN_PERSON: ErrorRule(
        _FORBIDDEN, "Nobody with this e-mail address logs in here; ask for an invitation."
    ),
    ErrorCode.PERSON_SWITCHED_OFF: ErrorRule(
        _FORBIDDEN, "The log-in is switched off; ask an administrator of the account."
    ),
    ErrorCode.BOUND_TO_ANOTHER: ErrorRule(
        _FORBIDDEN,
        "Somebody else at the identity provider logs in with this e-mail address here; an "
        "administrator can unbind that person, or remove them and invite you.",
    ),
    ErrorCode.PASSWORD_LOG_IN_OFF: ErrorRule(
        _FORBIDDEN, "Nobody logs in with a password here; use the identity provider."
    ),
    ErrorCode.IDEMPOTENCY_KEY_REUSED: ErrorRule(
        HTTPStatus.CONFLICT, "This Idempotency-Key was used with another request."
    ),
    ErrorCode.IDEMPOTENCY_KEY_IN_USE: ErrorRule(
        HTTPStatus.CONFLICT, "The first request with this Idempotency-Key is still running."
    ),
    ErrorCode.BODY_TOO_LARGE: ErrorRule(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large."
    ),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: ErrorRule(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "This call does not accept that Content-Type."
    ),
    ErrorCode.RATE_LIMITED: ErrorRule(
        HTTPStatus.TOO_MANY_REQUESTS, "The request limit was reached; wait, then try again."
    ),
    ErrorCode.TEMPORARILY_BLOCKED: ErrorRule(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Far too many requests: the key is blocked for a while; wait, then try again.",
    ),
    ErrorCode.TOO_MANY_STREAMS: ErrorRule(
        HTTPStatus.TOO_MANY_REQUESTS, "Too many streams are open; close one, or wait."
    ),
    ErrorCode.SERVICE_BUSY: ErrorRule(
        HTTPStatus.SERVICE_UNAVAILABLE, "Too many callers at once; wait, then try again."
    ),
    ErrorCode.INTERNAL_ERROR: ErrorRule(_FAULT, "Something went wrong on our side."),
    ErrorCode.DEPENDENCY_UNAVAILABLE: ErrorRule(
        _FAULT, "A part of the service does not answer; try again later."
    ),
    ErrorCode.RECOGNIZER_BUSY: ErrorRule(
        _FAULT, "Too many images are being read; nothing was charged, try again later."
    ),
    ErrorCode.RECOGNIZER_TIMEOUT: ErrorRule(
        _FAULT, "Reading the image failed or took too long; nothing was charged."
    ),
    ErrorCode.AGENT_UNAVAILABLE: ErrorRule(
        HTTPStatus.BAD_GATEWAY, "The processing agent is unavailable; nothing was saved."
    ),
}


@dataclass(frozen=True)
class FieldFault:
    """The fault of one parameter or body field; ``path`` is dotted, as in the request."""

    path: str
    message: str


class ApiError(PlatestreamError):
    """An answer other than success. The one handler turns it into status, headers and body."""

    def __init__(
        self,
        code: ErrorCode,
        sentence: str | None = None,
        *,
        fields: Sequence[FieldFault] = (),
        headers: Mapping[str, str] | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(sentence or ERROR_RULES[code].sentence)
        self.code = code
        self.fields = tuple(fields)
        self.headers = dict(headers or {})
        self.retry_after_seconds = retry_after_seconds

    @property
    def status(self) -> HTTPStatus:
        """The HTTP status of the answer."""
        return ERROR_RULES[self.code].status


class BodyRefusedError(HTTPException):
    """A body is read no further: ``answer`` tells why.

    The one kind of error that FastAPI lets through while it reads a body.
    """

    def __init__(self, answer: ApiError) -> None:
        super().__init__(answer.status)
        # What still comes is not read, so the connection cannot be used again.
        answer.headers["Connection"] = "close"
        self.answer = answer


def found(thing: _T | None) -> _T:
    """Return what was looked for.

    Raises:
        ApiError: 404, there is none, or it is someone else's.
    """
    if thing is None:
        raise ApiError(ErrorCode.NOT_FOUND)
    return thing


def unavailable(error: TransientError) -> ApiError:
    """Return the error that tells a caller which dependency is unavailable."""
    sentence = error.sentence if isinstance(error, DependencyUnavailableError) else None
    return ApiError(ErrorCode.DEPENDENCY_UNAVAILABLE, sentence)


def invalid_field(path: str, message: str) -> ApiError:
    """Return the error for one parameter or body field that is not valid."""
    return ApiError(ErrorCode.INVALID_REQUEST, fields=(FieldFault(path, message),))

"""Every error that the API answers with: status, code and the one body shape.

``{"error": "...", "code": "...", "requestId": "..."}``; validation adds ``fields``, what can be
tried again after a while adds ``retryAfter``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Self, TypeVar

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

UNION_TAG_PREFIX = "\x00"
"""Begins the tags of the forms that a field may have: they are no part of its path in faults."""


class ErrorCode(StrEnum):
    """The stable words for programs; the only list of them."""

    status: HTTPStatus
    sentence: str
    """The sentence where none says more."""

    def __new__(cls, word: str, status: int = 500, sentence: str = "") -> Self:
        """Return the member of a word."""
        code = str.__new__(cls, word)
        code._value_, code.status, code.sentence = word, HTTPStatus(status), sentence
        return code

    INVALID_REQUEST = "invalid_request", 400, "The request is not valid; see fields."
    INVALID_JSON = "invalid_json", 400, "The body is not a JSON object."
    INCOMPLETE_BODY = "incomplete_body", 400, "The body did not arrive in full in time."
    INVALID_CURSOR = (
        "invalid_cursor",
        400,
        "lastKey is not a nextKey of this list with the same filters.",
    )
    EMPTY_IMAGE = "empty_image", 400, "The image is empty."
    UNSUPPORTED_IMAGE = "unsupported_image", 400, "The image is neither a JPEG nor a PNG."
    IMAGE_TOO_LARGE = "image_too_large", 400, "The image has too many pixels."
    TRUNCATED_IMAGE = "truncated_image", 400, "The image ends too early."
    UNREADABLE_IMAGE = "unreadable_image", 400, "The image cannot be read."
    UNREADABLE_FILE = "unreadable_file", 400, "The file cannot be read as CSV."
    MISSING_CREDENTIALS = (
        "missing_credentials",
        401,
        "Send an API key in the header: Authorization: Bearer pk_...",
    )
    INVALID_CREDENTIALS = "invalid_credentials", 401, "The API key is not valid or is switched off."
    EXPIRED_CREDENTIALS = "expired_credentials", 401, "The API key has expired."
    INSUFFICIENT_CREDITS = (
        "insufficient_credits",
        402,
        "Insufficient credits: this call needs one credit.",
    )
    MISSING_SCOPE = "missing_scope", 403, "The API key lacks a scope that this call needs."
    BEYOND_OWN_EXPIRY = (
        "beyond_own_expiry",
        403,
        "A key cannot grant anything that lasts beyond its own expiresAt.",
    )
    CROSS_SITE_REQUEST = (
        "cross_site_request",
        403,
        "A session may change things only from pages of the same site.",
    )
    NOT_FOUND = "not_found", 404, "There is nothing here."
    METHOD_NOT_ALLOWED = (
        "method_not_allowed",
        405,
        "This path does not support this method; see the Allow header.",
    )
    DUPLICATE_IDENTIFIER = "duplicate_identifier", 409, "A camera with the same identifier exists."
    LIMIT_REACHED = "limit_reached", 409, "No more of these are allowed for this account."
    LAST_ADMINISTRATOR = (
        "last_administrator",
        409,
        "Nobody else administers this account; make another person do first.",
    )
    PERSON_EXISTS = "person_exists", 409, "Somebody logs in with this e-mail address already."
    INVITATION_OVER = (
        "invitation_over",
        404,
        "The invitation was used, was taken back or has expired.",
    )
    INVITATION_FOR_ANOTHER = (
        "invitation_for_another",
        403,
        "The invitation is for another e-mail address than the identity provider's.",
    )
    LOG_IN_EXPIRED = (
        "log_in_expired",
        400,
        "The log-in was begun in another browser, or over ten minutes ago; begin again.",
    )
    LOG_IN_REFUSED = (
        "log_in_refused",
        403,
        "The identity provider's answer is not good; begin again.",
    )
    EMAIL_NOT_VERIFIED = (
        "email_not_verified",
        403,
        "The identity provider has not verified the e-mail address.",
    )
    EMAIL_DOMAIN_REFUSED = (
        "email_domain_refused",
        403,
        "With an e-mail address of this domain nobody logs in by the identity provider here.",
    )
    UNKNOWN_PERSON = (
        "unknown_person",
        403,
        "Nobody with this e-mail address logs in here; ask for an invitation.",
    )
    PERSON_SWITCHED_OFF = (
        "person_switched_off",
        403,
        "The log-in is switched off; ask an administrator of the account.",
    )
    BOUND_TO_ANOTHER = (
        "bound_to_another",
        403,
        "Somebody else at the identity provider logs in with this e-mail address here; an "
        "administrator can unbind that person, or remove them and invite you.",
    )
    PASSWORD_LOG_IN_OFF = (
        "password_log_in_off",
        403,
        "Nobody logs in with a password here; use the identity provider.",
    )
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        409,
        "This Idempotency-Key was used with another request.",
    )
    IDEMPOTENCY_KEY_IN_USE = (
        "idempotency_key_in_use",
        409,
        "The first request with this Idempotency-Key is still running.",
    )
    BODY_TOO_LARGE = "body_too_large", 413, "The body is too large."
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        415,
        "This call does not accept that Content-Type.",
    )
    RATE_LIMITED = "rate_limited", 429, "The request limit was reached; wait, then try again."
    TEMPORARILY_BLOCKED = (
        "temporarily_blocked",
        429,
        "Far too many requests: the key is blocked for a while; wait, then try again.",
    )
    TOO_MANY_STREAMS = "too_many_streams", 429, "Too many streams are open; close one, or wait."
    SERVICE_BUSY = "service_busy", 503, "Too many callers at once; wait, then try again."
    INTERNAL_ERROR = "internal_error", 500, "Something went wrong on our side."
    DEPENDENCY_UNAVAILABLE = (
        "dependency_unavailable",
        500,
        "A part of the service does not answer; try again later.",
    )
    RECOGNIZER_BUSY = (
        "recognizer_busy",
        500,
        "Too many images are being read; nothing was charged, try again later.",
    )
    RECOGNIZER_TIMEOUT = (
        "recognizer_timeout",
        500,
        "Reading the image failed or took too long; nothing was charged.",
    )
    AGENT_UNAVAILABLE = (
        "agent_unavailable",
        502,
        "The processing agent is unavailable; nothing was saved.",
    )


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
        super().__init__(sentence or code.sentence)
        self.code = code
        self.fields = tuple(fields)
        self.headers = dict(headers or {})
        self.retry_after_seconds = retry_after_seconds

    @property
    def status(self) -> HTTPStatus:
        """The HTTP status of the answer."""
        return self.code.status


class BodyRefusedError(HTTPException):
    """A body is read no further: ``answer`` tells why.

    The one kind of error that FastAPI lets through while it reads a body.
    """

    def __init__(self, answer: ApiError) -> None:
        super().__init__(answer.status)
        # What still comes is not read, so the connection cannot be used again.
        answer.headers["Connection"] = "close"
        self.answer = answer


def known_code(word: str) -> ErrorCode | None:
    """Return the error code of that word."""
    return next((code for code in ErrorCode if code == word), None)


def require_found(thing: _T | None) -> _T:
    """Return what was looked for.

    Raises:
        ApiError: 404, there is none, or it is someone else's.
    """
    if thing is None:
        raise ApiError(ErrorCode.NOT_FOUND)
    return thing


def dependency_error(error: TransientError) -> ApiError:
    """Return the error that tells a caller which dependency is unavailable."""
    sentence = error.sentence if isinstance(error, DependencyUnavailableError) else None
    return ApiError(ErrorCode.DEPENDENCY_UNAVAILABLE, sentence)


def invalid_field(path: str, message: str) -> ApiError:
    """Return the error for one parameter or body field that is not valid."""
    return ApiError(ErrorCode.INVALID_REQUEST, fields=(FieldFault(path, message),))

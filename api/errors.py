"""Defines all error responses of the API: status, code, and the common body.

The body is ``{"error": "...", "code": "...", "requestId": "..."}``. Validation errors add
``fields``; errors after which the client should wait add ``retryAfter``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Self, TypeVar

from starlette.exceptions import HTTPException

from common.errors import PlatestreamError, TransientError

NO_ANSWER = "is not responding"


class Dependency(StrEnum):
    """A server that API calls depend on. The values are the names used in error messages."""

    CONFIGURATION = "configuration database"
    """PostgreSQL stores accounts, API keys, cameras, alerts, webhooks and credits."""

    SEARCH = "search database"
    """ClickHouse stores recognitions, counts, triggers and deliveries."""

    IMAGES = "image store"
    """S3 stores images."""

    BROKER = "message broker"
    """Kafka connects the API with ingest workers and stages."""

    IDENTITY_PROVIDER = "identity provider"
    """The OpenID Connect provider through which people log in."""


class DependencyUnavailableError(TransientError):
    """A dependency is unavailable or too slow. ``__cause__`` contains the details, for the log."""

    def __init__(self, dependency: Dependency, trouble: str = NO_ANSWER) -> None:
        """``trouble`` follows the dependency's name in the message."""
        super().__init__(f"the {dependency} {trouble}")
        self.sentence = f"The {dependency} {trouble}. Try again later."


_T = TypeVar("_T")

UNION_TAG_PREFIX = "\x00"
"""Prefix of tags that distinguish the types of a field. Paths in error responses omit tags."""


class ErrorCode(StrEnum):
    """Machine-readable error codes."""

    status: HTTPStatus
    sentence: str
    """The default message."""

    def __new__(cls, word: str, status: int = 500, sentence: str = "") -> Self:
        """Create the member with the value ``word``."""
        code = str.__new__(cls, word)
        code._value_, code.status, code.sentence = word, HTTPStatus(status), sentence
        return code

    INVALID_REQUEST = "invalid_request", 400, "The request is invalid; see fields."
    INVALID_JSON = "invalid_json", 400, "The request body is not a JSON object."
    INCOMPLETE_BODY = "incomplete_body", 400, "The request body was not received in time."
    INVALID_CURSOR = (
        "invalid_cursor",
        400,
        "lastKey is not a valid cursor for this list and these filters.",
    )
    EMPTY_IMAGE = "empty_image", 400, "The image is empty."
    UNSUPPORTED_IMAGE = "unsupported_image", 400, "The image must be a JPEG or PNG."
    IMAGE_TOO_LARGE = "image_too_large", 400, "The image exceeds the maximum number of pixels."
    TRUNCATED_IMAGE = "truncated_image", 400, "The image is truncated."
    UNREADABLE_IMAGE = "unreadable_image", 400, "The image cannot be decoded."
    UNREADABLE_FILE = "unreadable_file", 400, "The file cannot be read as CSV."
    MISSING_CREDENTIALS = (
        "missing_credentials",
        401,
        "Authentication required. Send an API key in the Authorization header: Bearer pk_...",
    )
    INVALID_CREDENTIALS = "invalid_credentials", 401, "The API key is invalid or disabled."
    EXPIRED_CREDENTIALS = "expired_credentials", 401, "The API key has expired."
    INSUFFICIENT_CREDITS = (
        "insufficient_credits",
        402,
        "Insufficient credits: this call costs one credit.",
    )
    MISSING_SCOPE = "missing_scope", 403, "The API key lacks a scope required for this call."
    BEYOND_OWN_EXPIRY = (
        "beyond_own_expiry",
        403,
        "An API key cannot grant access beyond its own expiresAt.",
    )
    CROSS_SITE_REQUEST = (
        "cross_site_request",
        403,
        "Requests with a session cookie must come from the same site.",
    )
    NOT_FOUND = "not_found", 404, "Resource not found."
    METHOD_NOT_ALLOWED = (
        "method_not_allowed",
        405,
        "This path does not support the request method; see the Allow header.",
    )
    DUPLICATE_IDENTIFIER = "duplicate_identifier", 409, "The camera identifier is already in use."
    LIMIT_REACHED = "limit_reached", 409, "The account has reached its limit for this resource."
    LAST_ADMINISTRATOR = (
        "last_administrator",
        409,
        "The account must have an administrator. Make another person an administrator first.",
    )
    PERSON_EXISTS = "person_exists", 409, "A person with this email address already exists."
    INVITATION_OVER = (
        "invitation_over",
        404,
        "The invitation has expired, was revoked or has already been used.",
    )
    INVITATION_FOR_ANOTHER = (
        "invitation_for_another",
        403,
        "The invitation is for a different email address than the one at the identity provider.",
    )
    LOG_IN_EXPIRED = (
        "log_in_expired",
        400,
        "The login expired or was started in another browser. Start again.",
    )
    LOG_IN_REFUSED = (
        "log_in_refused",
        403,
        "The identity provider's response could not be verified. Start again.",
    )
    EMAIL_NOT_VERIFIED = (
        "email_not_verified",
        403,
        "The identity provider has not verified the email address.",
    )
    EMAIL_DOMAIN_REFUSED = (
        "email_domain_refused",
        403,
        "Single sign-on is not enabled for this email domain.",
    )
    UNKNOWN_PERSON = (
        "unknown_person",
        403,
        "No account has a person with this email address. Ask an administrator for an invitation.",
    )
    PERSON_SWITCHED_OFF = (
        "person_switched_off",
        403,
        "Your login is disabled. Contact an administrator of the account.",
    )
    BOUND_TO_ANOTHER = (
        "bound_to_another",
        403,
        "This email address is linked to a different identity at the provider. An administrator "
        "can unlink it, or remove the person and invite you again.",
    )
    PASSWORD_LOG_IN_OFF = (
        "password_log_in_off",
        403,
        "Password login is disabled. Log in through the identity provider.",
    )
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        409,
        "This Idempotency-Key was already used with a different request.",
    )
    IDEMPOTENCY_KEY_IN_USE = (
        "idempotency_key_in_use",
        409,
        "A request with this Idempotency-Key is still in progress.",
    )
    BODY_TOO_LARGE = "body_too_large", 413, "The request body is too large."
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        415,
        "This call does not accept the request's Content-Type.",
    )
    RATE_LIMITED = "rate_limited", 429, "Rate limit exceeded. Try again later."
    TEMPORARILY_BLOCKED = (
        "temporarily_blocked",
        429,
        "Rate limit exceeded by far: the API key is temporarily blocked. Try again later.",
    )
    TOO_MANY_STREAMS = (
        "too_many_streams",
        429,
        "Too many open event streams. Close one or try again later.",
    )
    SERVICE_BUSY = "service_busy", 503, "The service is busy. Try again shortly."
    INTERNAL_ERROR = "internal_error", 500, "Internal server error."
    DEPENDENCY_UNAVAILABLE = (
        "dependency_unavailable",
        500,
        "A dependency of the service is unavailable. Try again later.",
    )
    RECOGNIZER_BUSY = (
        "recognizer_busy",
        500,
        "Too many images are being processed. No credit was charged. Try again later.",
    )
    RECOGNIZER_TIMEOUT = (
        "recognizer_timeout",
        500,
        "Processing the image failed or timed out. No credit was charged.",
    )
    AGENT_UNAVAILABLE = (
        "agent_unavailable",
        502,
        "No ingest worker is available. The camera was not saved.",
    )


@dataclass(frozen=True)
class FieldFault:
    """An error in a parameter or body field. ``path`` is dotted, with JSON field names."""

    path: str
    message: str


class ApiError(PlatestreamError):
    """An error response. The error handler turns it into status, headers and body."""

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
        """The HTTP status of the response."""
        return self.code.status


class BodyRefusedError(HTTPException):
    """Stops the reading of a request body. ``answer`` is the response.

    While reading a body, FastAPI propagates only subclasses of ``HTTPException``.
    """

    def __init__(self, answer: ApiError) -> None:
        super().__init__(answer.status)
        # Because the rest of the body is not read, the connection cannot be reused.
        answer.headers["Connection"] = "close"
        self.answer = answer


def known_code(word: str) -> ErrorCode | None:
    """Return the error code ``word``, or None if it is unknown."""
    return next((code for code in ErrorCode if code == word), None)


def require_found(thing: _T | None) -> _T:
    """Return ``thing`` unless it is None or False.

    Raises:
        ApiError: 404, the resource does not exist or belongs to another account.
    """
    if thing is None or thing is False:
        raise ApiError(ErrorCode.NOT_FOUND)
    return thing


def dependency_error(error: TransientError) -> ApiError:
    """Return the error response for an unavailable dependency, naming it if it is known."""
    sentence = error.sentence if isinstance(error, DependencyUnavailableError) else None
    return ApiError(ErrorCode.DEPENDENCY_UNAVAILABLE, sentence)


def invalid_field(path: str, message: str) -> ApiError:
    """Return the error response for one invalid parameter or body field."""
    return ApiError(ErrorCode.INVALID_REQUEST, fields=(FieldFault(path, message),))

"""Defines the base classes of all errors.

*Invalid* input is rejected or dead-lettered and never retried. A *transient* error is retried with
back-off. A *misconfigured* process exits at start with a message that says what to fix. The exit
status reports the kind of error to the parent process.

**Source:** sysexits.h of BSD, for the statuses.
"""

from typing import Final


class PlatestreamError(Exception):
    """Base class of all errors that the service raises on purpose."""


class InvalidInputError(PlatestreamError):
    """Input that can never be valid. Reject or dead-letter such input, and do not retry.

    ``code`` is a stable snake_case word for programs. The message is a sentence for people.
    """

    def __init__(self, message: str, *, code: str = "invalid") -> None:
        super().__init__(message)
        self.code = code


class TransientError(PlatestreamError):
    """A dependency is unavailable or slow. Retry the call with back-off."""


class MisconfiguredError(PlatestreamError):
    """Settings or files are invalid. Exit at start and log the reason."""


class UnknownRecordVersionError(InvalidInputError):
    """A record on a topic has no version, or a version that this release cannot read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="unknown_record_version")


EXIT_UNAVAILABLE: Final = 69
"""A dependency is unavailable (EX_UNAVAILABLE)."""

EXIT_SOFTWARE: Final = 70
"""An internal error (EX_SOFTWARE)."""

EXIT_TEMPORARY_FAILURE: Final = 75
"""A restart may succeed. No unfinished work was acknowledged (EX_TEMPFAIL)."""

EXIT_MISCONFIGURED: Final = 78
"""The settings or the server administrator's files are invalid (EX_CONFIG)."""

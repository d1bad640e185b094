"""The one error family: three branches, three answers.

*Invalid* input is refused or dead-lettered and never tried again, a *transient* fault is tried
again with back-off, a *misconfigured* process stops at start with a sentence that says what to
mend. The statuses with which a process ends say the same to whoever started it.

**Source:** sysexits.h of BSD, for the statuses.
"""

from typing import Final


class PlatestreamError(Exception):
    """Root of every error that this service raises on purpose."""


class InvalidInputError(PlatestreamError):
    """Input that can never be right: answer the caller or dead-letter it, do not retry.

    ``code`` is a stable snake_case word for programs, the message a sentence for a person.
    """

    def __init__(self, message: str, *, code: str = "invalid") -> None:
        super().__init__(message)
        self.code = code


class TransientError(PlatestreamError):
    """A neighbour is unavailable or slow: the same call may succeed later, with back-off."""


class MisconfiguredError(PlatestreamError):
    """Settings or files that cannot work: stop at start and say why."""


class UnknownRecordVersionError(InvalidInputError):
    """A record on a topic has a version (or no version) that this release does not read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="unknown_record_version")


EXIT_UNAVAILABLE: Final = 69
"""A neighbour cannot be reached (EX_UNAVAILABLE)."""

EXIT_SOFTWARE: Final = 70
"""The process failed by itself (EX_SOFTWARE)."""

EXIT_TEMPORARY_FAILURE: Final = 75
"""Started again it may succeed; nothing was acknowledged before its time (EX_TEMPFAIL)."""

EXIT_MISCONFIGURED: Final = 78
"""The operator's settings or files cannot work (EX_CONFIG)."""

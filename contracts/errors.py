"""The one error family: three branches, three answers.

*Invalid* input is refused or dead-lettered and never tried again, a *transient* fault is tried
again with back-off, a *misconfigured* process stops at start with a sentence that says what to
mend.
"""


class PlatestreamError(Exception):
    """Root of every error that this service raises on purpose."""


class InvalidInputError(PlatestreamError):
    """What came in can never be right: answer the caller or dead-letter it, do not retry.

    ``code`` is a stable snake_case word for programs, the message a sentence for a person.
    """

    def __init__(self, message: str, *, code: str = "invalid") -> None:
        super().__init__(message)
        self.code = code


class TransientError(PlatestreamError):
    """A neighbour is away or slow: the same call may succeed later, so retry with back-off."""


class MisconfiguredError(PlatestreamError):
    """The operator's settings or files cannot work: stop at start and say why."""


class UnknownRecordVersionError(InvalidInputError):
    """A record on a topic has a version (or no version) that this release does not read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="unknown_record_version")

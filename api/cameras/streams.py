"""A camera's stream address on its way in: checked, encrypted, masked, turned to an identifier."""

import hashlib
from dataclasses import dataclass

from api.errors import ApiError, invalid_field
from contracts.errors import InvalidInputError
from contracts.secrets import SecretBox
from contracts.stream_urls import (
    StreamUrlRules,
    has_masked_password,
    mask_password,
    parse_stream_url,
    restore_password,
    stream_identifier,
)

FIELD = "rtspUrl"
_IDENTIFIER_DIGITS = 20


@dataclass(frozen=True)
class StoredStream:
    """A stream address as it is kept: encrypted whole, and masked for showing."""

    encrypted: str
    shown: str


class StreamVault:
    """Knows the rules for stream addresses and the key that hides them."""

    def __init__(self, rules: StreamUrlRules, box: SecretBox) -> None:
        """Take the operator's rules and the installation's keys."""
        self._rules = rules
        self._box = box

    def store(self, text: str) -> StoredStream:
        """Check an address and return it as it is kept.

        Raises:
            ApiError: 400 on ``rtspUrl``; the sentence never repeats the address.
        """
        if has_masked_password(text):
            raise invalid_field(FIELD, "*** stands for a password that is not known here; give it.")
        self._identifier(text)
        return StoredStream(self._box.encrypt(text), mask_password(text))

    def replace(self, kept: StoredStream, text: str) -> StoredStream:
        """Return what is kept after an update to ``text``: ``kept`` itself where nothing changed.

        Passwords that ``text`` masks are those of ``kept``.

        Raises:
            ApiError: 400 on ``rtspUrl``.
        """
        before = self._box.decrypt(kept.encrypted)
        after = restore_password(text, before)
        return kept if after == before else self.store(after)

    def derived_identifier(self, stream: StoredStream) -> str:
        """Return the identifier of a camera that was given none: one for each stream.

        A hash, since an address may be long and is nobody's business in a log.
        """
        identifier = self._identifier(self._box.decrypt(stream.encrypted))
        return "stream-" + hashlib.sha256(identifier.encode()).hexdigest()[:_IDENTIFIER_DIGITS]

    def _identifier(self, text: str) -> str:
        try:
            return stream_identifier(parse_stream_url(text, self._rules))
        except InvalidInputError as error:
            raise _refused(error) from error


def _refused(error: InvalidInputError) -> ApiError:
    return invalid_field(FIELD, str(error))

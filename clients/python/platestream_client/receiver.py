"""Helps webhook receivers to verify signatures, parse events and drop duplicates.

These helpers need no API key and no client.
"""

import base64
import binascii
import hashlib
import hmac
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from platestream_client.errors import PlatestreamError
from platestream_client.models import Event

TOLERANCE_SECONDS = 300.0

_PREFIX = "whsec_"
_DAY_SECONDS = 86400.0


class SignatureError(PlatestreamError):
    """The delivery cannot be trusted. Respond with 401 and ignore the delivery."""


class EventError(PlatestreamError):
    """The body is not an event. Respond with 400."""


def verify(
    secret: str | Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float | None = TOLERANCE_SECONDS,
    now: float | None = None,
) -> None:
    """Check that a delivery was recently signed with the secret, or with one of several secrets.

    ``body`` is the raw body, before parsing. Names of ``headers`` are case-insensitive. Pass
    several secrets only if you replace the secret yourself. If the service rotates the secret, the
    service signs with both. ``tolerance`` is the maximum age of the signature in seconds; ``None``
    disables the check, for receivers behind a proxy that only forwards ``X-Signature-256``.

    Raises:
        SignatureError: the signature is missing, wrong or too old.

    **Source:** the service's guide to receivers; the Standard Webhooks specification, "Verifying
    webhook authenticity".
    """
    secrets = (secret,) if isinstance(secret, str) else tuple(secret)
    if not all(secrets) or not secrets:
        raise ValueError("the secret must not be empty")
    found = {name.lower(): value for name, value in headers.items()}
    _verify_contract(secrets, found, body)
    if tolerance is not None:
        _verify_standard(secrets, found, body, tolerance, time.time() if now is None else now)


def _verify_contract(secrets: Sequence[str], headers: Mapping[str, str], body: bytes) -> None:
    given = (headers.get("x-signature-256"), headers.get("x-signature-256-previous"))
    if given[0] is None:
        raise SignatureError("The X-Signature-256 header is missing.")
    expected = [hmac.digest(one.encode(), body, hashlib.sha256).hex() for one in secrets]
    if not _any_equal(expected, [one for one in given if one is not None]):
        raise SignatureError("X-Signature-256 does not match the body and secret.")


def _verify_standard(
    secrets: Sequence[str], headers: Mapping[str, str], body: bytes, tolerance: float, now: float
) -> None:
    try:
        id, sent, given = (headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as error:
        raise SignatureError(f"The {error.args[0]} header is missing.") from None
    if not (sent.isascii() and sent.isdigit()) or abs(now - int(sent)) > tolerance:
        raise SignatureError("webhook-timestamp differs too much from the local clock.")
    signed = b".".join((id.encode(), sent.encode(), body))
    expected = [
        "v1," + base64.b64encode(hmac.digest(_key(one), signed, hashlib.sha256)).decode()
        for one in secrets
    ]
    if not _any_equal(expected, given.split()):
        raise SignatureError("webhook-signature does not match the body and secret.")


def _any_equal(expected: Sequence[str], given: Sequence[str]) -> bool:
    """Return whether any pair is equal. The time taken does not depend on the expected values."""
    found = False
    for one in given:
        for other in expected:
            found |= hmac.compare_digest(one.encode(), other.encode())
    return found


def _key(secret: str) -> bytes:
    """Return the key of a secret. The part after ``whsec_`` is base64."""
    if secret.startswith(_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True) or secret.encode()
        except binascii.Error:
            return secret.encode()
    return secret.encode()


def parse(body: bytes) -> Event:
    """Return the event in a verified body. ``event["event"]`` is the event name.

    Later releases may send events with other names. Respond to such events with 2xx as well.

    Raises:
        EventError: the body is not an event.
    """
    try:
        event = json.loads(body)
    except ValueError as error:
        raise EventError("The body is not valid JSON.") from error
    if not isinstance(event, dict) or not {"id", "event", "createdAt", "data"} <= event.keys():
        raise EventError("The body is not a Platestream event.")
    return cast(Event, event)


class Seen:
    """Remembers event IDs, by default for three days, to detect duplicates.

    The IDs are in the memory of one process. With several receivers, or to survive a restart, store
    the IDs in your database instead, with a unique key and in the same transaction as the work.
    """

    def __init__(self, seconds: float = 3 * _DAY_SECONDS, at_most: int = 100_000) -> None:
        self._seconds = seconds
        self._at_most = at_most
        self._until: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def once(self, id: str) -> Iterator[bool]:
        """Yield True if the event is new, otherwise False, to the block that processes the event.

        If the block raises, the ID is removed, so that a retry of the event counts as new.
        """
        is_new = self._add(id)
        try:
            yield is_new
        except BaseException:
            if is_new:
                with self._lock:
                    self._until.pop(id, None)
            raise

    def _add(self, id: str) -> bool:
        now = time.monotonic()
        with self._lock:
            while self._until and next(iter(self._until.values())) <= now:
                self._until.popitem(last=False)
            if id in self._until:
                return False
            self._until[id] = now + self._seconds
            if len(self._until) > self._at_most:
                self._until.popitem(last=False)
            return True

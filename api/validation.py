"""What the checks of a body need to know of the operator's settings.

FastAPI checks bodies without a context of ours, so the gate lays the rules down here, for the
request in hand. All faults of a body, those of addresses included, are then told at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from contracts.outbound import OutboundRules
from contracts.stream_urls import StreamUrlRules


@dataclass(frozen=True)
class ValidationRules:
    """What clients' addresses and lists are measured by."""

    streams: StreamUrlRules = StreamUrlRules()
    outbound: OutboundRules = OutboundRules()
    plates_per_alert: int = 1000


_STRICTEST = ValidationRules()
_RULES: ContextVar[ValidationRules] = ContextVar("validation_rules", default=_STRICTEST)


def validation_rules() -> ValidationRules:
    """Return the rules of the request in hand; the strictest ones outside of any."""
    return _RULES.get()


@contextmanager
def validating_by(rules: ValidationRules) -> Iterator[None]:
    """Lay ``rules`` down for the bodies that are checked within the block."""
    token = _RULES.set(rules)
    try:
        yield
    finally:
        _RULES.reset(token)

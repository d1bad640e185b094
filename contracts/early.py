"""Early alerts: what a vehicle is told of as before it is gone, and what becomes of that."""

from enum import StrEnum

import msgspec


class EarlyAlerts(StrEnum):
    """Which alerts may fire before a vehicle is gone."""

    OFF = "off"
    SPECIFIC = "specific"
    """Those that fire for the plates in their list: a misreading seldom gives one of these."""
    ALL = "all"


class SightedPlate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plate that a pass was told of as before it was over, as it was known then.

    ``captured_ms`` (Unix ms, UTC) is that of the best frame up to then; ``confidence`` is 0..1.
    """

    plate: str
    confidence: float
    captured_ms: int


class TriggerPhase(StrEnum):
    """How far a firing is settled."""

    FINAL = "final"
    """It fired when the pass was over, as without early alerts."""
    EARLY = "early"
    """Provisional: it fired while the vehicle was still there."""
    CONFIRMED = "confirmed"
    """It fired early, and the vehicle had that plate."""
    CORRECTED = "corrected"
    """It fired early; the vehicle had another plate, for which the alert fires just as well."""
    WITHDRAWN = "withdrawn"
    """It fired early; the vehicle had a plate for which it does not fire, or none was accepted."""


class EarlyFiring(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an alert fired for early: the plate, its capture and the decision (Unix ms, UTC)."""

    plate: str
    captured_ms: int
    decided_ms: int

"""The thresholds of tracking, as plain values."""

from dataclasses import dataclass

from contracts.early import EarlyAlerts
from streams.recognition.settings import RecognitionSettings


@dataclass(frozen=True, kw_only=True)
class TrackingRules:
    """When a track ends, when it is a recognition, how long a plate stays silent.

    ``tells_early``: agreeing readings are told of before the track ends.
    """

    end_ms: int = 2_000
    longest_ms: int = 15_000
    silence_ms: int = 45_000
    fixture_silence_ms: int = 86_400_000
    agreeing_readings: int = 2
    single_confidence: float = 0.9
    min_confidence: float = 0.5
    tells_early: bool = True


def tracking_rules(settings: RecognitionSettings) -> TrackingRules:
    """Return the rules that the settings ask for."""
    return TrackingRules(
        end_ms=round(settings.tracking_end_seconds * 1000),
        longest_ms=round(settings.tracking_longest_seconds * 1000),
        silence_ms=round(settings.tracking_silence_seconds * 1000),
        fixture_silence_ms=round(settings.tracking_fixture_silence_seconds * 1000),
        agreeing_readings=settings.tracking_agreeing_readings,
        single_confidence=settings.tracking_single_confidence,
        min_confidence=settings.tracking_min_confidence,
        tells_early=settings.early_alerts is not EarlyAlerts.OFF,
    )

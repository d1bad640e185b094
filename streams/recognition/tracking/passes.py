"""Defines the rules of tracking, and derives passes from ended tracks. No I/O."""

from dataclasses import dataclass

import msgspec

from common.records.recognitions import (
    CharacterAlternative,
    Direction,
    ProvisionalPlate,
    alternatives_of,
)
from streams.recognition.geometry import direction_between
from streams.recognition.settings import RecognitionSettings
from streams.recognition.tracking.tracks import TextReading, TextTally, Track
from streams.recognition.tracking.votes import voted_options, voted_probabilities, voted_text

LONGEST_TRACK_MS = 15_000
"""A longer track is ended and reported although the vehicle is still in view."""


@dataclass(frozen=True, kw_only=True)
class TrackingRules:
    """Thresholds that decide when tracks end and are accepted, and how plates are suppressed.

    ``reports_early``: whether agreeing readings are reported before the track ends.
    """

    end_ms: int = 2_000
    max_track_ms: int = LONGEST_TRACK_MS
    suppress_ms: int = 45_000
    stationary_suppress_ms: int = 86_400_000
    agreeing_readings: int = 2
    single_confidence: float = 0.9
    min_confidence: float = 0.5
    reports_early: bool = True


def tracking_rules(settings: RecognitionSettings) -> TrackingRules:
    """Return the rules that the settings define."""
    return TrackingRules(
        end_ms=round(settings.tracking_end_seconds * 1000),
        max_track_ms=LONGEST_TRACK_MS,
        suppress_ms=round(settings.tracking_silence_seconds * 1000),
        min_confidence=settings.tracking_min_confidence,
        reports_early=settings.early_alerts,
    )


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle's pass: the voted plate, and the best frame with a reading of that plate.

    ``probabilities`` are 0..1, one for each character of ``plate``. Times are Unix ms, UTC.
    ``provisional_plates`` are the plates under which the pass was reported before. ``direction`` is
    None if it is not clear. ``traces`` are the ``traceparent`` values of the last frames.
    """

    track: str
    plate: str
    probabilities: tuple[float, ...]
    alternatives: tuple[CharacterAlternative, ...] = ()
    best: TextReading
    first_seen_ms: int
    last_seen_ms: int
    readings_count: int
    provisional_plates: tuple[ProvisionalPlate, ...] = ()
    direction: Direction | None = None
    traces: tuple[str, ...] = ()

    @property
    def confidence(self) -> float:
        """The mean of the character probabilities, 0..1."""
        return sum(self.probabilities) / len(self.probabilities)


def resolve_track(track: Track, rules: TrackingRules) -> Pass | None:
    """Return the pass of a track, or None if there are too few readings or their confidence is low.

    The plate is the voted text if enough readings have exactly that text, otherwise the text with
    the best support, because an image must show the recognition's plate.
    """
    supported = [tally for tally in track.texts if is_supported(tally, rules)]
    if not supported:
        return None
    favourite = voted_text(track.votes)
    winner = max(supported, key=lambda t: (t.text == favourite, t.count, t.best.confidence, t.text))
    resolved = Pass(
        track=track.name,
        plate=winner.text,
        probabilities=voted_probabilities(track.votes, winner.text),
        alternatives=alternatives_of(winner.text, voted_options(track.votes, winner.text)),
        best=winner.best,
        first_seen_ms=track.first_seen_ms,
        last_seen_ms=track.last_seen_ms,
        readings_count=track.readings_count,
        provisional_plates=track.provisional_plates,
        direction=_direction(track),
        traces=track.traces or (),
    )
    return resolved if resolved.confidence >= rules.min_confidence else None


def _direction(track: Track) -> Direction | None:
    if track.still or track.first_whole is None or track.last_whole is None:
        return None
    return direction_between(track.first_whole, track.last_whole)


def is_supported(tally: TextTally, rules: TrackingRules) -> bool:
    """Return whether a text was read often enough, or once, in full and with high confidence."""
    certain = tally.best.confidence >= rules.single_confidence and not tally.best.is_cut
    return certain or tally.count >= rules.agreeing_readings

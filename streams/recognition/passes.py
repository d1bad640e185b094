"""From an ended track to the plate that passed, if there was one."""

import msgspec

from contracts.early import SightedPlate
from streams.recognition.rules import TrackingRules
from streams.recognition.tracks import TextReading, TextTally, Track
from streams.recognition.votes import voted_probabilities, voted_text


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """One vehicle's passage: the voted plate and the frame whose reading is that plate.

    ``probabilities`` are 0..1, one for each character of ``plate``. Times are Unix ms, UTC.
    ``sighted`` is what was told of it before.
    """

    track: str
    plate: str
    probabilities: tuple[float, ...]
    best: TextReading
    first_seen_ms: int
    last_seen_ms: int
    readings_count: int
    sighted: tuple[SightedPlate, ...] = ()

    @property
    def confidence(self) -> float:
        """Mean of the character probabilities, 0..1."""
        return sum(self.probabilities) / len(self.probabilities)


def settle(track: Track, rules: TrackingRules) -> Pass | None:
    """Return the pass that a track amounts to, or None: too few or too unsure readings.

    The plate is the voted text where enough readings give exactly that, otherwise the best
    supported text among the readings: an image must show what the recognition says.
    """
    supported = [tally for tally in track.texts if is_supported(tally, rules)]
    if not supported:
        return None
    favourite = voted_text(track.votes)
    winner = max(supported, key=lambda t: (t.text == favourite, t.count, t.best.confidence, t.text))
    settled = Pass(
        track=track.name,
        plate=winner.text,
        probabilities=voted_probabilities(track.votes, winner.text),
        best=winner.best,
        first_seen_ms=track.first_seen_ms,
        last_seen_ms=track.last_seen_ms,
        readings_count=track.readings_count,
        sighted=track.sighted,
    )
    return settled if settled.confidence >= rules.min_confidence else None


def is_supported(tally: TextTally, rules: TrackingRules) -> bool:
    """Return whether a text was read often enough, or once for certain and whole."""
    certain = tally.best.confidence >= rules.single_confidence and not tally.best.is_cut
    return certain or tally.count >= rules.agreeing_readings

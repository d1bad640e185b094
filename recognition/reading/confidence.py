"""Calculates the confidence of a text. Nine of ten readings with confidence 0.9 are correct.

The confidence is the calibrated mean probability of the characters, multiplied by the probability
that the text belongs to a plate, because signs and buttons are also detected and read.
"""

import math
from typing import NamedTuple

import msgspec
import numpy as np

from recognition.models.model_card import CalibrationCard, PlateProbabilityCard
from recognition.types import Character, FloatArray

_MAX_PROBABILITY = 1 - 1e-6
_BISECTIONS = 50
_MAX_POWER = 2.0**24

_MIN_PROBABILITY = 1e-4
_MAX_SHORT_LENGTH = 3
_MIN_CLOSE_UP_SHARE = 0.4


def calibrated_confidence(mean_probability: float, card: CalibrationCard | None) -> float:
    """Return the confidence (0 to 1) for a mean character probability (0 to 1)."""
    if card is None:
        return mean_probability
    return float(np.clip(np.interp(mean_probability, card.x, card.y), 0.0, 1.0))


def calibrate(
    characters: tuple[Character, ...], card: CalibrationCard | None, plate_probability: float = 1.0
) -> tuple[Character, ...]:
    """Return the characters with probabilities whose mean is the confidence.

    The confidence is the calibrated mean, multiplied by ``plate_probability``. The best probability
    of each character is raised to the same power, which preserves the characters' order. The
    difference is distributed proportionally to the other options.
    """
    if not characters:
        return ()
    best = [min(c.options[0][1], _MAX_PROBABILITY) for c in characters]
    target = plate_probability * calibrated_confidence(sum(best) / len(best), card)
    power = _power_for_mean(best, target)
    return tuple(_tempered(c, b, b**power) for c, b in zip(characters, best, strict=True))


def _power_for_mean(probabilities: list[float], target: float) -> float:
    # The mean of p ** power decreases as power increases, so bisection finds the power.
    low, high = 0.0, 1.0
    while _mean_of_powers(probabilities, high) > target and high < _MAX_POWER:
        low, high = high, high * 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _mean_of_powers(probabilities, middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _mean_of_powers(probabilities: list[float], power: float) -> float:
    return sum(math.pow(p, power) for p in probabilities) / len(probabilities)


def _tempered(character: Character, before: float, after: float) -> Character:
    share = (1 - after) / (1 - before)
    rest = tuple((letter, min(1.0, p * share)) for letter, p in character.options[1:])
    return Character(((character.options[0][0], after), *rest))


class PlateFeatures(NamedTuple):
    """Features that distinguish plates from signs.

    ``score`` is the detector's score, ``share`` the plate's fraction of the image's width, and
    ``least_sure`` the probability of the least certain character (each 0 to 1).
    """

    score: float
    share: float
    text: str
    least_sure: float


def plate_probability(features: PlateFeatures, card: PlateProbabilityCard | None) -> float:
    """Return the probability (0 to 1) that this is a plate, or 1 without a card."""
    if card is None:
        return 1.0
    log_odds = float(feature_vector(features) @ np.array(msgspec.structs.astuple(card)))
    return (1 + math.tanh(log_odds / 2)) / 2


def feature_vector(features: PlateFeatures) -> FloatArray:
    """Return the factors of a card's weights, in the order of the card's fields."""
    text, length = features.text, len(features.text)
    of_text = (
        text.isalpha(),
        text.isdigit(),
        length <= _MAX_SHORT_LENGTH,
        length == _MAX_SHORT_LENGTH + 1,
        features.share > _MIN_CLOSE_UP_SHARE,
    )
    return np.array([1.0, _log_odds(features.score), _log_odds(features.least_sure), *of_text])


def _log_odds(probability: float) -> float:
    clipped = min(max(probability, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    return math.log(clipped / (1 - clipped))

"""Calibrated confidence: 0.9 means right nine times in ten."""

import math

import numpy as np

from recognition.model_card import CalibrationCard
from recognition.types import Character

_CLOSEST_TO_CERTAIN = 1 - 1e-6
_BISECTIONS = 50
_STEEPEST = 2.0**24


def calibrated_confidence(mean_probability: float, card: CalibrationCard | None) -> float:
    """Return the confidence, 0..1, for a mean character probability, 0..1."""
    if card is None:
        return mean_probability
    return float(np.clip(np.interp(mean_probability, card.x, card.y), 0.0, 1.0))


def calibrate(
    characters: tuple[Character, ...], card: CalibrationCard | None, chance: float = 1.0
) -> tuple[Character, ...]:
    """Return the characters with probabilities whose mean is the confidence.

    That is the calibrated one, times the ``chance`` that they are those of a plate. The best
    probability of each character is raised to one common power, which keeps their order; what that
    takes from it or gives to it is shared among the other options in proportion.
    """
    if not characters:
        return ()
    best = [min(c.options[0][1], _CLOSEST_TO_CERTAIN) for c in characters]
    target = chance * calibrated_confidence(sum(best) / len(best), card)
    power = _power_for_mean(best, target)
    return tuple(_tempered(c, b, b**power) for c, b in zip(characters, best, strict=True))


def _power_for_mean(probabilities: list[float], target: float) -> float:
    # The mean of p ** power falls as power grows, so bisection finds the power.
    low, high = 0.0, 1.0
    while _mean_of_powers(probabilities, high) > target and high < _STEEPEST:
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

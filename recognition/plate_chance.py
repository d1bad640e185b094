"""How likely what was found and read is a plate: signs and buttons are found and read too."""

import math
from typing import NamedTuple

import msgspec
import numpy as np

from recognition.model_card import PlateChanceCard
from recognition.types import FloatArray

_FROM_CERTAIN = 1e-4
_FEW_CHARACTERS = 3
_CLOSE_UP_SHARE = 0.4


class Signs(NamedTuple):
    """What tells plates from other writing.

    ``score`` is the detector's, 0..1; ``share`` what it takes of the picture's width, 0..1;
    ``least_sure`` the probability of the least sure character, 0..1.
    """

    score: float
    share: float
    text: str
    least_sure: float


def chance_of_plate(signs: Signs, card: PlateChanceCard | None) -> float:
    """Return the chance that it is a plate, 0..1; 1 where no card tells."""
    if card is None:
        return 1.0
    log_odds = float(weighed(signs) @ np.array(msgspec.structs.astuple(card)))
    return (1 + math.tanh(log_odds / 2)) / 2


def weighed(signs: Signs) -> FloatArray:
    """Return the values that the weights of a card count, in the order of its fields."""
    text, length = signs.text, len(signs.text)
    told = (
        text.isalpha(),
        text.isdigit(),
        length <= _FEW_CHARACTERS,
        length == _FEW_CHARACTERS + 1,
        signs.share > _CLOSE_UP_SHARE,
    )
    return np.array([1.0, _log_odds(signs.score), _log_odds(signs.least_sure), *told])


def _log_odds(probability: float) -> float:
    drawn_in = min(max(probability, _FROM_CERTAIN), 1 - _FROM_CERTAIN)
    return math.log(drawn_in / (1 - drawn_in))

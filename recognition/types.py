"""Array types and the small frozen values that the engine's parts hand to each other."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recognition.boxes import Box

BgrImage = npt.NDArray[np.uint8]
"""An image as OpenCV holds it: height x width x 3, uint8, blue first."""

FloatArray = npt.NDArray[np.floating]

Slots = npt.NDArray[np.floating]
"""What a reader says of a plate: slots x alphabet, the probability 0..1 of each character in each
slot. One of the characters is the padding, likeliest in slots that are empty."""

LineLogs = npt.NDArray[np.floating]
"""What a reader of lines says of a plate: places x classes, logarithms of probabilities. Class 0 is
none; class i + 1 is the alphabet's character i."""


@dataclass(frozen=True)
class Detection:
    """A plate found in an image: edges in pixels of that image, the detector's score 0..1.

    ``kind`` is the name that the detector's card gives to its class.
    """

    left: float
    top: float
    right: float
    bottom: float
    score: float
    kind: str

    @property
    def box(self) -> Box:
        """Left, top, right, bottom."""
        return self.left, self.top, self.right, self.bottom

    @property
    def width_px(self) -> float:
        """Width of the box."""
        return self.right - self.left

    @property
    def height_px(self) -> float:
        """Height of the box."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Character:
    """A position of a read plate: its likeliest characters with probability 0..1, best first."""

    options: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class CropText:
    """What is read on one plate; ``region`` is None where the model does not tell.

    ``agreed``: a second reader had its say, so the probabilities are of another kind. ``degrees``:
    by how much the plate hangs, clockwise, where that made it readable.
    """

    characters: tuple[Character, ...]
    region: str | None
    agreed: bool = False
    degrees: float = 0.0

    @property
    def text(self) -> str:
        """The likeliest character of each position."""
        return "".join(character.options[0][0] for character in self.characters)

    @property
    def mean_probability(self) -> float:
        """The mean probability of the characters, 0..1; 0 where there are none."""
        best = [character.options[0][1] for character in self.characters]
        return sum(best) / len(best) if best else 0.0

    @property
    def least_sure(self) -> float:
        """The probability of the least sure character, 0..1; 0 where there is none."""
        return min((character.options[0][1] for character in self.characters), default=0.0)

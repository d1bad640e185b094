"""Draws letters with a uniform stroke in cells of equal width, as on German and Mercosur plates.

The design is our own. Each letter is a few strokes, defined by the corners of the strokes' centre
lines, in millimetres of a 75 mm tall letter. Corners are rounded where the letter is round.
"""

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

Spot = tuple[float, float]

HEIGHT_MM = 75.0
_LETTER_MM, _DIGIT_MM = 47.5, 44.5
_STROKE_MM = 11.0
_PX_PER_MM = 6.0
_MARGIN_MM = 14.0


@dataclass(frozen=True)
class _Stroke:
    """A line through corners. Inner corners have the radius `round_mm`. `closed` joins the ends."""

    corners: tuple[Spot, ...]
    round_mm: float = 0.0
    closed: bool = False
    thick_mm: float = _STROKE_MM


def stroke_letter(character: str) -> NDArray[np.float32]:
    """Return a mask of A-Z or 0-9 in the full cell, from 0 (paper) to 1 (ink).

    Raises KeyError for any other character.
    """
    return _drawn(_LETTERS[character], character)


def box_letter(character: str) -> NDArray[np.float32]:
    """Return a mask of a character with nearly square corners, as on Brazilian plates until 2018.

    O is nearly a box, and I is a single stem.
    """
    strokes = _BOX_LETTERS.get(character, _LETTERS[character])
    return _drawn(tuple(replace(s, round_mm=s.round_mm * _BOX_ROUND) for s in strokes), character)


def slashed_letter(character: str) -> NDArray[np.float32]:
    """Return the mask that `stroke_letter` returns, but with a slash through zeros."""
    return _drawn((*_LETTERS[character], *_SLASHES.get(character, ())), character)


def _drawn(strokes: tuple[_Stroke, ...], character: str) -> NDArray[np.float32]:
    width = _DIGIT_MM if character.isdigit() else _LETTER_MM
    size = (round(HEIGHT_MM * _PX_PER_MM), round(width * _PX_PER_MM))
    edge = round(_MARGIN_MM * _PX_PER_MM)
    ink = np.zeros((size[0] + 2 * edge, size[1] + 2 * edge), dtype=np.uint8)
    for stroke in strokes:
        ink = np.maximum(ink, _inked(stroke, ink.shape))
    return np.divide(ink[edge:-edge, edge:-edge], 255, dtype=np.float32)


def _inked(stroke: _Stroke, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    ink = np.zeros(shape, dtype=np.uint8)
    line = (_rounded(stroke) + _MARGIN_MM) * _PX_PER_MM
    thickness = round(stroke.thick_mm * _PX_PER_MM)
    cv2.polylines(ink, [np.round(line).astype(np.int32)], stroke.closed, (255,), thickness)
    if not stroke.closed:
        for end, inner in ((line[0], line[1]), (line[-1], line[-2])):
            _cut_square(ink, end, end - inner, thickness)
    return ink


def _cut_square(
    ink: NDArray[np.uint8], end: NDArray[np.float64], way: NDArray[np.float64], size: float
) -> None:
    """Remove the round cap that OpenCV draws at the end of a line."""
    ahead = way / np.linalg.norm(way) * size * 0.6
    aside = np.array([-ahead[1], ahead[0]])
    corners = [end + aside, end + aside + ahead, end - aside + ahead, end - aside]
    cv2.fillConvexPoly(ink, np.round(np.array(corners)).astype(np.int32), (0,))


def _rounded(stroke: _Stroke) -> NDArray[np.float64]:
    """Return N points (x, y in mm) on the stroke's centre line, with rounded corners."""
    corners = np.array(stroke.corners, dtype=np.float64)
    if stroke.round_mm == 0:
        return corners
    count = len(corners)
    line = []
    for index, corner in enumerate(corners):
        if not stroke.closed and index in (0, count - 1):
            line.append(corner[None])
            continue
        before, after = corners[index - 1], corners[(index + 1) % count]
        line.append(_bend(before, corner, after, stroke.round_mm))
    return np.concatenate(line)


def _bend(
    before: NDArray[np.float64],
    corner: NDArray[np.float64],
    after: NDArray[np.float64],
    radius: float,
) -> NDArray[np.float64]:
    back, on = before - corner, after - corner
    reach = [
        min(radius, float(np.linalg.norm(way)) * share) for way, share in ((back, 0.5), (on, 0.5))
    ]
    start = corner + back / np.linalg.norm(back) * reach[0]
    stop = corner + on / np.linalg.norm(on) * reach[1]
    turn = np.linspace(0, np.pi / 2, 13)[:, None]
    # Draw a quarter of an ellipse from start to stop. The corner lies outside the ellipse.
    return np.asarray(
        corner + (start - corner) * (1 - np.sin(turn)) + (stop - corner) * (1 - np.cos(turn))
    )


def _line(*corners: Spot) -> _Stroke:
    return _Stroke(corners)


def _curve(round_mm: float, *corners: Spot) -> _Stroke:
    return _Stroke(corners, round_mm)


def _loop(round_mm: float, left: float, top: float, right: float, bottom: float) -> _Stroke:
    return _Stroke(((left, top), (right, top), (right, bottom), (left, bottom)), round_mm, True)


# Positions of the outer centre lines: left, top and bottom, and right for letters and digits.
_L, _T, _B = 5.5, 5.5, 69.5
_R, _D = _LETTER_MM - 5.5, _DIGIT_MM - 5.5
_C, _E = _LETTER_MM / 2, _DIGIT_MM / 2
_W, _V = _LETTER_MM, _DIGIT_MM
_STEM = _line((_L, 0), (_L, HEIGHT_MM))
_RIGHT_STEM = _line((_R, 0), (_R, HEIGHT_MM))
_TOP = _line((0, _T), (_W, _T))
_FOOT = _line((0, _B), (_W, _B))
_BOWL = _curve(15, (0, _T), (_R, _T), (_R, 42), (0, 42))

_LETTERS: dict[str, tuple[_Stroke, ...]] = {
    "A": (
        _line((4.5, 82), (_C - 2.5, -7)),
        _line((_W - 4.5, 82), (_C + 2.5, -7)),
        _line((10, 53), (37, 53)),
    ),
    "B": (
        _STEM,
        _curve(13, (0, _T), (_R - 3, _T), (_R - 3, 35.5), (8, 35.5)),
        _curve(15, (0, _B), (_R, _B), (_R, 35.5), (8, 35.5)),
    ),
    "C": (_curve(17, (_R, 25), (_R, _T), (_L, _T), (_L, _B), (_R, _B), (_R, 50)),),
    "D": (_STEM, _curve(20, (0, _T), (_R, _T), (_R, _B), (0, _B))),
    "E": (_STEM, _TOP, _FOOT, _line((0, 36), (_W - 5, 36))),
    "F": (_STEM, _TOP, _line((0, 38), (_W - 6, 38))),
    "G": (
        _curve(17, (_R, 23), (_R, _T), (_L, _T), (_L, _B), (_R, _B), (_R, 37)),
        _line((_C, 42.5), (_W, 42.5)),
    ),
    "H": (_STEM, _RIGHT_STEM, _line((0, 37), (_W, 37))),
    "I": (
        _line((_C, 0), (_C, 75)),
        _line((_C - 14, _T), (_C + 14, _T)),
        _line((_C - 14, _B), (_C + 14, _B)),
    ),
    "J": (_curve(18, (_R - 2, 0), (_R - 2, _B), (_L, _B), (_L, 50)), _line((_C - 6, _T), (_R, _T))),
    "K": (_STEM, _line((_W - 4, -7), (_L + 2, 48)), _line((21, 31), (_W - 3, 83))),
    "L": (_STEM, _FOOT),
    "M": (_STEM, _RIGHT_STEM, _line((_L - 2, -6), (_C, 43), (_R + 2, -6))),
    "N": (_STEM, _RIGHT_STEM, _line((_L - 1, -6), (_R + 1, 81))),
    "O": (_loop(19, _L, _T, _R, _B),),
    "P": (_STEM, _BOWL),
    "Q": (_loop(19, _L, _T, _R, _B), _line((26, 50), (_W + 2, 79))),
    "R": (_STEM, _BOWL, _line((23, 43), (_W - 3, 83))),
    "S": (
        _curve(
            14.5, (_R, 23), (_R, _T), (_L, _T), (_L, 36.5), (_R, 36.5), (_R, _B), (_L, _B), (_L, 52)
        ),
    ),
    "T": (_TOP, _line((_C, 0), (_C, 75))),
    "U": (_curve(18, (_L, 0), (_L, _B), (_R, _B), (_R, 0)),),
    "V": (_line((4.5, -7), (_C - 1, 79)), _line((_W - 4.5, -7), (_C + 1, 79))),
    "W": (
        _line((3.5, -6), (12.5, 81)),
        _line((12, 82), (_C, 20), (_W - 12, 82)),
        _line((_W - 3.5, -6), (_W - 12.5, 81)),
    ),
    "X": (_line((2, -6), (_W - 2, 81)), _line((_W - 2, -6), (2, 81))),
    "Y": (_line((3, -7), (_C, 41)), _line((_W - 3, -7), (_C, 41)), _line((_C, 36), (_C, 75))),
    "Z": (_line((1, _T), (_W - 1, _T)), _FOOT, _line((_W - 2, -4), (2, 79))),
    "0": (_loop(17, _L + 1, _T, _D - 1, _B),),
    "1": (_line((28, 0), (28, 75)), _line((30, 3), (7, 24))),
    "2": (_curve(16, (_L, 25), (_L, _T), (_D, _T), (_D, 34), (4, 75)), _line((0, _B), (_V, _B))),
    "3": (
        _line((3, _T), (_V - 2, _T)),
        _line((_D - 3, -2), (20, 30)),
        _curve(17, (16, 30.5), (_D, 30.5), (_D, _B), (_L, _B), (_L, 52)),
    ),
    "4": (_line((24, -8), (4, 57)), _line((0, 55), (_V, 55)), _line((30, 34), (30, 75))),
    "5": (
        _line((6, _T), (_V - 2, _T)),
        _line((9.5, 0), (8, 38)),
        _curve(17, (5, 33), (_D, 33), (_D, _B), (_L, _B), (_L, 53)),
    ),
    "6": (_loop(15, _L, 31, _D, _B), _curve(18, (_L, 52), (_L, 28), (30, -8))),
    "7": (_line((0, _T), (_V, _T)), _line((_V - 4, -4), (13, 82))),
    "8": (_loop(13, _L + 2, _T, _D - 2, 35), _loop(15, _L, 35, _D, _B)),
    "9": (_loop(15, _L, _T, _D, 44), _curve(18, (_D, 23), (_D, 47), (14.5, 83))),
}

_BOX_ROUND = 0.5
_BOX_LETTERS: dict[str, tuple[_Stroke, ...]] = {"I": (_line((_C, 0), (_C, HEIGHT_MM)),)}
_SLASHES: dict[str, tuple[_Stroke, ...]] = {
    "0": (_Stroke(((_D - 2, 14), (_L + 2, 61)), thick_mm=6.0),)
}

"""Defines plate layouts: sizes, colours, letters and number patterns by country.

**No number belongs to a real vehicle.** Every pattern is valid in its country, but generates only
numbers in ranges that the country does not issue. By layout:

- Germany: district codes end in J or X. The only such two-letter district, HX, is not used.
- United Kingdom: memory tags begin with J, T or U, which are not allocated to any office.
- France: the series counts upwards from AA and has reached H. Our numbers begin with T to Y.
- Italy: the series counts upwards and has reached H. Our numbers begin with S, T or V.
- Spain: the series counts upwards and has reached N. Our numbers begin with W to Z.
- Netherlands: the last pair contains a vowel. Ordinary series have had no vowels since 1978.
- Poland: codes are TM, TP and TR. Świętokrzyskie uses only one two-letter code, TK.
- Romania: our county codes do not exist.
- California: the 123ABC4 series follows 9ZZZ999 and starts from AAA. Our numbers begin with V to Y.
- Texas: the first letter is A, E or U. The general series has no vowels.
- New York: the series has reached M. Our numbers begin with V, W or X.
- Brazil: numbers begin with YV to ZZ, far above the ranges that are assigned to the states.

I, O and Q are never used. 0 is used only if the country's typeface distinguishes 0 from O, or if
the position cannot contain an O. So the text is what a careful person reads. A coincidence with a
personalised plate cannot be excluded, but the rendered vehicle is a different one.
"""

import csv
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tools.synthetic.lettering import Face

Colour = tuple[int, int, int]
"""A colour as blue, green and red, each from 0 to 255."""

Group = tuple[str, ...]
"""A group of characters, given as the allowed characters at each position."""


class Band(Enum):
    """The decoration next to or above the number."""

    NONE = "none"
    EU = "eu"
    EU_BOTH = "eu_both"
    UK = "uk"
    MERCOSUR = "mercosur"
    STATE = "state"


class Gap(Enum):
    """The separator between two groups of characters."""

    SPACE = "space"
    DASH = "dash"
    SEALS = "seals"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Lettering:
    """Typeface and sizes (mm) of the letters. The pitch includes the space after a letter."""

    face: Face
    height_mm: float
    width_mm: float
    pitch_mm: float
    gap_mm: float
    embossed: bool = True


@dataclass(frozen=True)
class Layout:
    """A kind of plate in a country. `rows` contains the groups of each row, top row first."""

    code: str
    width_mm: float
    height_mm: float
    background: Colour
    ink: Colour
    band: Band
    lettering: Lettering
    rows: tuple[tuple[Group, ...], ...]
    gaps: tuple[tuple[Gap, ...], ...]
    band_text: str = ""
    slogan: str = ""
    accent: Colour = (150, 55, 10)
    border: bool = True

    def matches(self, text: str) -> bool:
        """Return whether a normalised text (A-Z0-9, with the rows joined) matches this layout."""
        slots = (slot for row in self.rows for group in row for slot in group)
        return re.fullmatch("".join(f"[{slot}]" for slot in slots), text) is not None


_PLACES = {
    "1": "123456789",
    "9": "0123456789",
    "C": "BCDFGHJKLMNPRSTVWXYZ",
    "S": "ABCDEFGHJKLMNPRSTUVWXYZ",
    "U": "ABCDEFGHJKLMNPRSTVWXYZ",
}
"""The characters that each pattern character represents. Brackets contain literal characters."""

_GAPS = {" ": Gap.SPACE, "-": Gap.DASH, "*": Gap.SEALS, ".": Gap.NOTHING}
_GAP = re.compile(r"[ \-*.]")


def _layout(row: dict[str, str]) -> Layout:
    """Return the layout in a row of the table. A ``/`` in the pattern starts the second row."""
    height, width, pitch, gap = (
        float(row[name]) for name in ("letter_height", "letter_width", "pitch", "gap")
    )
    rows = row["pattern"].split("/")
    return Layout(
        row["code"],
        float(row["width_mm"]),
        float(row["height_mm"]),
        _colour(row["background"]),
        _colour(row["ink"]),
        Band(row["band"]),
        Lettering(Face[row["face"]], height, width, pitch, gap, embossed=bool(row["embossed"])),
        rows=tuple(tuple(map(_group, _GAP.split(part))) for part in rows),
        gaps=tuple(tuple(_GAPS[mark] for mark in _GAP.findall(part)) for part in rows),
        band_text=row["band_text"],
        slogan=row["slogan"],
        accent=_colour(row["accent"]),
        border=bool(row["border"]),
    )


def _colour(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text)
    return blue, green, red


def _group(pattern: str) -> Group:
    return tuple(own or _PLACES[one] for own, one in re.findall(r"\[(\w+)\]|(\w)", pattern))


with Path(__file__).with_suffix(".csv").open(encoding="utf-8") as _table:
    LAYOUTS = tuple(map(_layout, csv.DictReader(_table)))
"""All layouts, from ``layouts.csv``, in which colours are written as RRGGBB."""

BY_CODE = {layout.code: layout for layout in LAYOUTS}
"""All layouts by their code."""

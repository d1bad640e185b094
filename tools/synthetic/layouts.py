"""Layouts of plates: sizes, colours, letters and number patterns by country.

**Numbers belong to nobody.** Every pattern is well formed in its country, and every number it makes
lies in a part of the country's number space that is not issued. How, by layout:

- Germany: district codes end in J or X. No two-letter district does (HX, Höxter, is left out).
- United Kingdom: memory tags begin with J, T or U, which are not allocated to any office.
- France: the series counts upwards from AA; it stands at H, ours begin with T to Y.
- Italy: likewise; it stands at H, ours begin with S, T or V.
- Spain: likewise; it stands at N, ours begin with W to Z.
- Netherlands: the last pair holds a vowel; ordinary series have had none since 1978.
- Poland: TM, TP and TR; Świętokrzyskie has one two-letter code, TK.
- Romania: county codes that name no county.
- California: the 123ABC4 series follows 9ZZZ999 and starts from AAA; ours begin with V to Y.
- Texas: the first letter is A, E or U; the general series has no vowels.
- New York: the series stands at M; ours begin with V, W or X.
- Brazil: YV to ZZ, far above the ranges that have been given to the states.

I, O and Q are never drawn, and 0 only where the country's own letters tell it from O or no O can
stand in its place: the text is what a careful person reads. A coincidence with a personalised
plate somewhere cannot be excluded; the vehicle drawn is not that one.
"""

import csv
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tools.synthetic.lettering import Face

Colour = tuple[int, int, int]
"""Blue, green, red, 0 to 255."""

Group = tuple[str, ...]
"""For each place of a group of characters, the characters it may hold."""


class Band(Enum):
    """What stands beside or above the number."""

    NONE = "none"
    EU = "eu"
    EU_BOTH = "eu_both"
    UK = "uk"
    MERCOSUR = "mercosur"
    STATE = "state"


class Gap(Enum):
    """What stands between two groups of characters."""

    SPACE = "space"
    DASH = "dash"
    SEALS = "seals"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Lettering:
    """How the number is written, in millimetres; the pitch is a letter and its space."""

    face: Face
    height_mm: float
    width_mm: float
    pitch_mm: float
    gap_mm: float
    embossed: bool = True


@dataclass(frozen=True)
class Layout:
    """One country's plate of one kind. `rows` holds the groups of each row, top row first."""

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
        """Return whether a normalised text (A-Z0-9, rows joined) is a number of this layout."""
        slots = (slot for row in self.rows for group in row for slot in group)
        return re.fullmatch("".join(f"[{slot}]" for slot in slots), text) is not None


_PLACES = {
    "1": "123456789",
    "9": "0123456789",
    "C": "BCDFGHJKLMNPRSTVWXYZ",
    "S": "ABCDEFGHJKLMNPRSTUVWXYZ",
    "U": "ABCDEFGHJKLMNPRSTVWXYZ",
}
"""What a character of a pattern stands for; in brackets are the characters themselves."""

_GAPS = {" ": Gap.SPACE, "-": Gap.DASH, "*": Gap.SEALS, ".": Gap.NOTHING}
_GAP = re.compile(r"[ \-*.]")


def _layout(row: dict[str, str]) -> Layout:
    """Return the layout of a row of the table. In its pattern, ``/`` begins the second row."""
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
"""The layouts of ``layouts.csv``, which has colours as RRGGBB."""

BY_CODE = {layout.code: layout for layout in LAYOUTS}
"""Each layout by its code."""

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

import re
from dataclasses import dataclass
from enum import Enum

from tools.synthetic.lettering import Face

Colour = tuple[int, int, int]
"""Blue, green, red, 0 to 255."""

Group = tuple[str, ...]
"""For each place of a group of characters, the characters it may hold."""

_SAFE = "ABCDEFGHJKLMNPRSTUVWXYZ"
_NO_U = "ABCDEFGHJKLMNPRSTVWXYZ"
_CONSONANTS = "BCDFGHJKLMNPRSTVWXYZ"
_DIGITS = "0123456789"
_FIRST = "123456789"

_WHITE: Colour = (236, 240, 240)
_YELLOW_GB: Colour = (30, 190, 245)
_YELLOW_NL: Colour = (20, 180, 245)
_BLACK: Colour = (22, 20, 20)
_EU_BLUE: Colour = (150, 55, 10)


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
    country: str
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
    accent: Colour = _EU_BLUE
    border: bool = True

    def matches(self, text: str) -> bool:
        """Return whether a normalised text (A-Z0-9, rows joined) is a number of this layout."""
        slots = (slot for row in self.rows for group in row for slot in group)
        return re.fullmatch("".join(f"[{slot}]" for slot in slots), text) is not None


def _digits(count: int, first: str = _FIRST) -> Group:
    return (first, *[_DIGITS] * (count - 1))


_GB_LETTERS = Lettering(Face.ROAD_WIDE, 79, 50, 61, 33, embossed=False)
_GB_NUMBER: tuple[Group, ...] = (
    ("JTU", "BDEFGHJKLMNPRSTVWY", "5671", "12345678"),
    (_CONSONANTS,) * 3,
)
_DE_DISTRICT: Group = ("BDFGKLMNRTW", "XJ")
_DE_LETTERS: Group = ("ABCDEFGHKLMNPRTUVWXYZ", "CEFGKLMPRTUVWXY")

LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "de", "DE", 520, 110, _WHITE, _BLACK, Band.EU,
        Lettering(Face.EVEN_STROKE, 75, 50, 53.5, 49),
        rows=((_DE_DISTRICT, _DE_LETTERS, _digits(3)),),
        gaps=((Gap.SEALS, Gap.SPACE),),
        band_text="D",
    ),
    Layout(
        "de_two_row", "DE", 340, 200, _WHITE, _BLACK, Band.EU,
        Lettering(Face.EVEN_STROKE, 75, 47, 50, 24),
        rows=((_DE_DISTRICT,), (_DE_LETTERS, _digits(3))),
        gaps=((), (Gap.SPACE,)),
        band_text="D",
    ),
    Layout(
        "gb_front", "GB", 520, 111, _WHITE, _BLACK, Band.UK, _GB_LETTERS,
        rows=(_GB_NUMBER,), gaps=((Gap.SPACE,),), band_text="UK", border=False,
    ),
    Layout(
        "gb_rear", "GB", 520, 111, _YELLOW_GB, _BLACK, Band.UK, _GB_LETTERS,
        rows=(_GB_NUMBER,), gaps=((Gap.SPACE,),), band_text="UK", border=False,
    ),
    Layout(
        "gb_motorcycle", "GB", 228, 178, _YELLOW_GB, _BLACK, Band.NONE,
        Lettering(Face.ROAD_WIDE, 64, 44, 53, 30, embossed=False),
        rows=((_GB_NUMBER[0],), (_GB_NUMBER[1],)), gaps=((), ()), border=False,
    ),
    Layout(
        "fr", "FR", 520, 110, _WHITE, _BLACK, Band.EU_BOTH,
        Lettering(Face.DIN, 76, 44, 49, 34, embossed=False),
        rows=((("TVWXY", _NO_U), _digits(3), (_NO_U,) * 2),),
        gaps=((Gap.DASH, Gap.DASH),),
        band_text="F", border=False,
    ),
    Layout(
        "it", "IT", 520, 110, _WHITE, _BLACK, Band.EU_BOTH,
        Lettering(Face.DIN, 77, 46, 53, 26),
        rows=((("STV", _NO_U), _digits(3), (_NO_U,) * 2),),
        gaps=((Gap.SPACE, Gap.NOTHING),),
        band_text="I",
    ),
    Layout(
        "es", "ES", 520, 110, _WHITE, _BLACK, Band.EU,
        Lettering(Face.DIN, 77, 45, 55, 36),
        rows=((_digits(4), ("WXYZ", *[_CONSONANTS] * 2)),),
        gaps=((Gap.SPACE,),),
        band_text="E",
    ),
    Layout(
        "nl", "NL", 520, 110, _YELLOW_NL, _BLACK, Band.EU,
        Lettering(Face.DIN, 77, 46, 53, 34),
        rows=((("GHJKNPRSTXZ",), _digits(3), ("BDFGHJKLNPRSTVXZ", "AEU")),),
        gaps=((Gap.DASH, Gap.DASH),),
        band_text="NL",
    ),
    Layout(
        "pl", "PL", 520, 114, _WHITE, _BLACK, Band.EU,
        Lettering(Face.DIN, 80, 46, 55, 36),
        rows=((("T", "MPR"), _digits(5)),),
        gaps=((Gap.SPACE,),),
        band_text="PL",
    ),
    Layout(
        "ro", "RO", 520, 110, _WHITE, _BLACK, Band.EU,
        Lettering(Face.DIN, 76, 46, 53, 30),
        rows=((("DKLPRWXZ", "KXZ"), _digits(2), (_CONSONANTS,) * 3),),
        gaps=((Gap.SPACE, Gap.SPACE),),
        band_text="RO",
    ),
    Layout(
        "us_ca", "US-CA", 305, 152, _WHITE, (95, 40, 15), Band.STATE,
        Lettering(Face.ROAD_NARROW, 66, 32, 38, 0),
        rows=(((_FIRST,) * 3, ("VWXY", *[_CONSONANTS] * 2), (_FIRST,)),),
        gaps=((Gap.NOTHING, Gap.NOTHING),),
        band_text="California", slogan="", accent=(45, 35, 190), border=False,
    ),
    Layout(
        "us_tx", "US-TX", 305, 152, _WHITE, (25, 20, 20), Band.STATE,
        Lettering(Face.ROAD_NARROW, 66, 33, 37, 16),
        rows=((("AEU", *[_CONSONANTS] * 2), _digits(4)),),
        gaps=((Gap.DASH,),),
        band_text="TEXAS", slogan="The Lone Star State", accent=(25, 20, 20), border=False,
    ),
    Layout(
        "us_ny", "US-NY", 305, 152, _WHITE, (80, 38, 16), Band.STATE,
        Lettering(Face.ROAD_NARROW, 66, 33, 37, 16),
        rows=((("VWX", *[_CONSONANTS] * 2), _digits(4)),),
        gaps=((Gap.DASH,),),
        band_text="NEW YORK", slogan="EXCELSIOR", accent=(105, 60, 20), border=False,
    ),
    Layout(
        "br", "BR", 400, 130, _WHITE, _BLACK, Band.MERCOSUR,
        Lettering(Face.EVEN_STROKE, 65, 43.5, 50, 0),
        rows=((("YZ", "VWXYZ", _CONSONANTS), (_FIRST,), (_SAFE,), _digits(2)),),
        gaps=((Gap.NOTHING,) * 3,),
        band_text="BRASIL",
    ),
)  # fmt: skip

BY_CODE = {layout.code: layout for layout in LAYOUTS}
"""Each layout by its code."""

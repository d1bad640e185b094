"""Creates random plate layouts for the reader, in the patterns and styles of many countries.

The layouts of ``tools.synthetic`` are for published images, without real numbers. These layouts are
only for training. They use all letters that a country uses, including O, I and Q, so that the
reader learns whether a position of a pattern can contain O or 0. Some layouts are custom plates.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tools.synthetic.layouts import Band, Colour, Gap, Group, Layout, Lettering
from tools.synthetic.lettering import Face

T = TypeVar("T")

_ALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NO_OI = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_NO_VOWELS = "BCDFGHJKLMNPRSTVWXYZ"
_DIGITS = "0123456789"
_MORE_BOXES = _ALL + 3 * "DIOQ"
_LETTERS = {
    "L": _ALL, "B": _MORE_BOXES, "N": _NO_OI, "C": _NO_VOWELS, "D": _DIGITS, "X": _ALL + _DIGITS,
}  # fmt: skip

_WHITES: tuple[Colour, ...] = ((236, 240, 240), (215, 225, 225), (225, 235, 245))
_DARK: Colour = (24, 22, 22)
_YELLOW: Colour = (30, 190, 240)


@dataclass(frozen=True)
class Country:
    """The patterns and the style of a country's plates.

    In a pattern, each letter represents a character (``L`` any letter, ``B`` with D, I, O and Q
    four times as often, ``N`` without O and I, ``C`` without vowels, ``D`` a digit, ``X`` a letter
    or digit), and a space represents a gap. ``share`` is the country's relative weight.
    """

    share: float
    patterns: tuple[str, ...]
    size_mm: tuple[float, float] = (520, 110)
    bands: tuple[Band, ...] = (Band.NONE,)
    grounds: tuple[Colour, ...] = _WHITES
    inks: tuple[Colour, ...] = (_DARK,)
    names: tuple[str, ...] = ("",)
    slogans: tuple[str, ...] = ("",)
    two_row_share: float = 0.08
    faces: tuple[Face, ...] = (
        Face.DIN, Face.ROAD, Face.ROAD_WIDE, Face.ROAD_NARROW, Face.EVEN_STROKE,
        Face.SLASHED_STROKE,
    )  # fmt: skip


_STATES = (
    "California", "TEXAS", "NEW YORK", "Florida", "Ohio", "GEORGIA", "Illinois", "Washington",
    "Pennsylvania", "Arizona", "NEW JERSEY", "Virginia", "OREGON", "Colorado", "MICHIGAN", "Utah",
)  # fmt: skip
_SLOGANS = ("", "Land of Lincoln", "Sunshine State", "dmv.ca.gov", "Peach State", "Evergreen State")
_US_INKS: tuple[Colour, ...] = ((95, 40, 15), _DARK, (60, 30, 20), (40, 80, 20), (35, 30, 140))
_US_GROUNDS: tuple[Colour, ...] = (*_WHITES, (215, 235, 220), (235, 220, 200), (190, 225, 245))
_EU_BANDS = (Band.EU, Band.EU, Band.EU_BOTH, Band.NONE)
_PK_NAMES = ("ICT", "SINDH", "PUNJAB", "LAHORE", "")

BRAZIL = Country(
    2.5, ("BBB DDDD", "BBBDDDD"), (400, 130), (Band.STATE, Band.NONE),
    ((165, 165, 165), (190, 190, 188), (60, 40, 190), (190, 192, 195)), (_DARK,),
    ("SP SAO PAULO", "RJ RIO", "MG BELO HORIZONTE", "PR CURITIBA"), ("",), 0.25,
    (Face.BOX_STROKE, Face.BOX_STROKE, Face.BOX_STROKE, Face.ROAD_NARROW),
)  # fmt: skip
"""Brazil until 2018. The O is nearly a box, and differs from the D only on the left side."""

COUNTRIES: tuple[Country, ...] = (
    Country(
        9.0,
        ("LLL DDDD", "LLLDDDD", "DLLLDDD", "LLL DDD", "DDD LLL", "LLL LDD", "LL DDDDD", "DDDD LL",
         "LDD LLL", "DLL DDD", "LLLD DD", "DLLL DD", "LLDD LL", "DDD DDD", "LDDDDD", "CLL DDDD",
         "XXXXX", "XXXXXX", "LLLLLLL", "LLLLL", "LLXXLL", "LLLDDL"),
        (305, 152), (Band.STATE, Band.STATE, Band.STATE, Band.NONE), _US_GROUNDS, _US_INKS,
        _STATES, _SLOGANS, 0.0,
    ),
    BRAZIL,
    Country(
        1.5, ("LLLDLDD", "LL DDD LL", "LLL DDDD"), (400, 130), (Band.MERCOSUR,),
        names=("BRASIL", "REPUBLICA ARGENTINA", "URUGUAY"), two_row_share=0.2,
    ),
    Country(
        1.5, ("LLL DDD", "LLLL DD", "DDD LLL", "LLL DDDL", "DDDD LLL", "LLLDDD"), (330, 150),
        (Band.NONE, Band.STATE), ((236, 240, 240), _YELLOW, _DARK), (_DARK, (30, 25, 90)),
        ("CHILE", "COLOMBIA", "MEXICO", "PERU", ""), ("", "BOGOTA D.C."),
    ),
    Country(
        3.0,
        ("DND DDDD", "NNN DDD", "NN DDDDD", "LLL DDD", "LL DD DDD", "L DDDDL", "NN DDDDDD",
         "D LLL DDD", "LL DD LL", "NN DDD NN", "LL DDDD L", "LLL DDDD", "L DDDD LL", "DDD LLL",
         "DDD L DDDDD", "DD LLL DDD", "DD LL DDDD", "DDD D DDDD", "LL DDD LL", "DDDD LLL"),
        bands=_EU_BANDS, grounds=(*_WHITES, _YELLOW),
        inks=(_DARK, _DARK, (40, 30, 150)), names=("CZ", "S", "SK", "B", "IRL", "TR", "H", "P"),
    ),
    Country(
        2.0, ("LL DD LL", "L L DDDD", "LL L DDDD", "LL LL DDD", "LL L DDD", "LLL L DDD"),
        bands=(Band.EU, Band.NONE), names=("D",), two_row_share=0.12,
    ),
    Country(
        2.0, ("LLDD LLL", "LLDD LLL", "LDDD LLL", "LDD LLL", "LLL DDDL", "LLL DDD", "DDD LL"),
        bands=(Band.UK, Band.EU, Band.NONE, Band.NONE),
        grounds=((236, 240, 240), _YELLOW, (30, 30, 30)), names=("GB", "UK"), two_row_share=0.12,
    ),
    Country(
        1.0, ("NN DD NNN", "N DD NNN", "NN DD NNN"), bands=(Band.EU, Band.NONE), names=("RO",)
    ),
    Country(
        2.0, ("LLDD LL DDDD", "LL DD LL DDDD", "LL DD L DDDD", "LL DD DDDD", "LL DDL DDDD"),
        (500, 120), (Band.NONE, Band.EU), (*_WHITES, _YELLOW), names=("IND",), two_row_share=0.35,
    ),
    Country(
        2.0, ("LLL DDD", "LL DDD", "LLL DDDD", "LL DDDD", "LL DD"), (310, 150),
        (Band.STATE, Band.STATE, Band.NONE), ((30, 28, 28), (236, 240, 240), (40, 180, 210)),
        names=_PK_NAMES, slogans=("ISLAMABAD", "SINDH", "", ""), two_row_share=0.2,
    ),
    Country(
        1.5, ("DDDDD", "DDDDDD", "L DDDDD", "DD DDDDD", "D DDDD", "DD DDD DD", "DDD DD DDD"),
        grounds=(*_WHITES, _YELLOW), bands=(Band.NONE, Band.EU), names=("UAE", "QATAR", "IL"),
        two_row_share=0.15,
    ),
    Country(
        1.5, ("LLL DDDD", "LL DDDD L", "L DDDD LL", "L DDDD LLL", "NN NDDDD", "NDDDDD", "LLL DDDL",
              "DDL DDDDD", "LL DDDDD"),
        (440, 130), (Band.NONE,), ((236, 240, 240), (28, 28, 28)), two_row_share=0.25,
    ),
    Country(
        1.5, ("LLL DDD", "LLDDLL", "DLL DLL", "LDDDLLL", "LLL DDL", "LL DD LL", "LLL DDDL"),
        (372, 134), (Band.STATE, Band.NONE), (*_WHITES, _YELLOW), (_DARK, (120, 50, 10)),
        ("", "NSW", "VICTORIA", "QUEENSLAND"), ("", "THE PLACE TO BE"),
    ),
    Country(
        1.0, ("XXX", "XXXX", "XXXXX", "XXXXXX", "XXXXXXX", "XXXXXXXX"), (420, 120),
        (Band.NONE, Band.STATE, Band.EU), (*_WHITES, _YELLOW, _DARK, (60, 40, 170)),
    ),
)  # fmt: skip

_SHARES = np.array([c.share for c in COUNTRIES]) / sum(c.share for c in COUNTRIES)
_LIGHT: Colour = (238, 240, 240)
_DARK_BELOW = 110.0
_EDGE_MM = 26.0
"""Horizontal space (mm) on each side of the number, for margins and a possible band."""


def random_layout(rng: np.random.Generator, country: Country | None = None) -> Layout:
    """Return a random layout of a country. Without ``country``, choose a random country."""
    if country is None:
        country = COUNTRIES[int(rng.choice(len(COUNTRIES), p=_SHARES))]
    groups = tuple(map(_group, _pick(country.patterns, rng).split()))
    two_rows = len(groups) > 1 and rng.random() < country.two_row_share
    rows = _two_rows(groups, rng) if two_rows else (groups,)
    size = country.size_mm
    if two_rows:
        size = (size[0] * 0.68, size[1] * (1.8 if size[0] > 2 * size[1] else 1.15))
    band = Band.NONE if two_rows else _pick(country.bands, rng)
    ground = _pick(country.grounds, rng)
    ink = _LIGHT if sum(ground) / 3 < _DARK_BELOW else _pick(country.inks, rng)
    gap = _pick((Gap.SPACE, Gap.SPACE, Gap.DASH, Gap.NOTHING), rng)
    return Layout(
        "training", *size, ground, ink, band,
        _lettering(_pick(country.faces, rng), size, rows, band, rng),
        rows=rows, gaps=tuple((gap,) * (len(row) - 1) for row in rows),
        band_text=_pick(country.names, rng), slogan=_pick(country.slogans, rng),
        accent=ink if band is Band.STATE else (150, 55, 10), border=bool(rng.random() < 0.5),
    )  # fmt: skip


def _group(pattern: str) -> Group:
    return tuple(_LETTERS[place] for place in pattern)


def _two_rows(groups: tuple[Group, ...], rng: np.random.Generator) -> tuple[tuple[Group, ...], ...]:
    first = int(rng.integers(1, len(groups)))
    return groups[:first], groups[first:]


def _lettering(
    face: Face,
    size: tuple[float, float],
    rows: tuple[tuple[Group, ...], ...],
    band: Band,
    rng: np.random.Generator,
) -> Lettering:
    """Return lettering with which a number fills the plate. Wide numbers are compressed."""
    free = size[1] - (54 if band is Band.STATE else 34 if band is Band.MERCOSUR else 0)
    height = free / len(rows) * rng.uniform(0.66, 0.82)
    places = max(sum(map(len, row)) + 0.5 * len(row) for row in rows)
    pitch = min((size[0] - 2 * _EDGE_MM) / places, height * rng.uniform(0.62, 0.85))
    return Lettering(
        face, height, pitch * rng.uniform(0.78, 0.92), pitch,
        pitch * rng.uniform(0.25, 0.8), embossed=bool(rng.random() < 0.6),
    )  # fmt: skip


def _pick(options: tuple[T, ...], rng: np.random.Generator) -> T:
    return options[int(rng.integers(len(options)))]

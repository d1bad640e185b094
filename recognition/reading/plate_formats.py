"""The plate formats of countries, which decide 8 or B, 2 or Z, 0 or O where the image does not.

A soft prior: a character of the wrong kind at its place counts a twentieth, so one that is more
than 0.953 likely stays whatever the format says, and plates of no format (made to order, of
diplomats, of a country that was guessed wrong) stay possible. Of 2,597 plates that the reader was
not trained on, 2,262 are read right with it and 2,246 without (tools/training/HISTORY.md).
"""

import json
import re
from itertools import accumulate, product
from typing import NamedTuple

import numpy as np

from recognition.settings import MODELS
from recognition.types import FloatArray, Slots


class _Pattern(NamedTuple):
    """An order of letters and digits: places x characters, to match it and to weigh answers."""

    fits: FloatArray
    counts: FloatArray


MIN_REGION_PROBABILITY = 0.7
"""The minimum probability of the country: a less likely one has no formats."""

SURE_PROBABILITY = 0.98
"""Readings whose characters are as likely as this on average are left alone."""

NO_FORMAT_SHARE = 0.3
"""Prior share of a country's plates that follow no format."""

NO_UNNAMED_FORMAT_SHARE = 0.5
"""The same of plates that are of none of the countries which the reader names."""

MISMATCH_WHEN_MATCHING, MISMATCH_IN_ANSWER = 0.03, 0.05
"""The weight of a character of the wrong kind: when a format is matched, and in the answer."""

LEADING_ZERO_WEIGHT = 0.2
"""The weight of a zero where a number begins that is written without leading zeros."""

_FORMATS: dict[str, str] = json.loads((MODELS / "plate-formats.json").read_text())
"""Letters and digits of the common series, by the names of fast-plate-ocr's regions: ``L1-2D4`` is
one or two letters, then four digits; ``N1-4`` is a number of one to four digits without a leading
zero. Countries whose plates have no common order are not here. The United States and Canada have
those of their states and provinces, which readers confuse.

**Source:** the countries' own rules, as Wikipedia's "Vehicle registration plates of ..." sums them
up (2026-11).
"""

_UNNAMED = {"India": "L2D1-2L1-3D4", "Russia": "L1D3L2D2-3"}
"""Of countries whose plates fast-plate-ocr's readers call unknown."""

_LETTERS_OF = {"Russia": "ABCEHKMOPTXY"}
"""All that a country's plates use, where these are few: those that look Latin."""


def unnamed_country(text: str) -> str | None:
    """Return the country that a text (A-Z0-9) has the order of, of those that no reader names."""
    order = "".join("L" if character.isalpha() else "D" for character in text)
    for country, formats in _UNNAMED.items():
        letters = {character for character in text if character.isalpha()}
        if order in _orders(formats) and letters <= set(_LETTERS_OF.get(country, letters)):
            return country
    return None


class PlateFormats:
    """The formats of the countries that a reader tells apart."""

    def __init__(self, alphabet: str, pad: int, regions: tuple[str, ...]) -> None:
        """Build the patterns of each region; ``pad`` is the index of the padding."""
        self._places = [i for i in range(len(alphabet)) if i != pad]
        self._pad = pad
        characters = [alphabet[i] for i in self._places]
        self._by_region = [_patterns(_FORMATS.get(name, ""), characters) for name in regions]
        self._is_none = np.array([name == "Unknown" for name in regions])
        self._unnamed = [p for one in _UNNAMED.values() for p in _patterns(one, characters)]

    def apply(self, slots: Slots, region: FloatArray) -> Slots:
        """Return a reader's slots weighted by the formats of the likeliest country.

        ``region`` holds the probability 0..1 of each country, in the order of ``regions``. Slots
        that are sure already, or of a length that no format has, are returned unchanged.
        """
        filled = slots.argmax(axis=-1) != self._pad
        patterns, share = self._patterns_of(int(filled.sum()), region)
        if not patterns or slots[filled].max(axis=-1).mean() >= SURE_PROBABILITY:
            return slots
        rows = np.flatnonzero(filled)[:, None]
        probabilities = np.asarray(slots[rows, self._places], np.float64)
        weighted = np.array(slots, np.float64)
        mixed = _mixed(probabilities, patterns, share)
        weighted[rows, self._places] = _no_surer(probabilities, mixed)
        return weighted

    def _patterns_of(self, length: int, region: FloatArray) -> tuple[list[_Pattern], float]:
        """Return the patterns of a length, and the share of plates that follow one of them.

        Those of the country, if it is sure enough. Where the likeliest one has none, those of
        countries that no reader names, as far as it may be one of them: it is no country at all, or
        one whose orders have other lengths.
        """
        of_length = [[p for p in own if len(p.fits) == length] for own in self._by_region]
        best = int(region.argmax())
        if of_length[best]:
            return of_length[best] if region[
                best
            ] >= MIN_REGION_PROBABILITY else [], 1 - NO_FORMAT_SHARE
        others = [
            bool(all_) and not own for all_, own in zip(self._by_region, of_length, strict=True)
        ]
        unnamed = float(region[self._is_none | others].sum())
        patterns = [p for p in self._unnamed if len(p.fits) == length]
        return patterns, unnamed * (1 - NO_UNNAMED_FORMAT_SHARE)


def _mixed(slots: FloatArray, patterns: list[_Pattern], share: float) -> FloatArray:
    """Return the mean of the slots by all formats and by none, weighted by fit; sums stay."""
    sums = slots.sum(axis=-1, keepdims=True)
    slots = slots / sums
    fits = [(slots * pattern.fits).sum(axis=-1) for pattern in patterns]
    weights = [np.prod(fit + MISMATCH_WHEN_MATCHING * (1 - fit)) for fit in fits]
    by_format = share / len(patterns) * np.array(weights)
    by_none = (1 - share) * 0.5 ** len(slots)
    mixed = by_none * slots
    for pattern, weight in zip(patterns, by_format, strict=True):
        likely = slots * pattern.counts
        mixed = mixed + weight * likely / likely.sum(axis=-1, keepdims=True)
    return np.asarray(sums * mixed / (by_none + by_format.sum()))


def _no_surer(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return ``after`` with the characters that changed no likelier than the former ones were.

    The format says which of two look-alikes it is, not that the image shows one of them. What a row
    loses by that goes to all characters alike; sums and order stay.
    """
    even = after.mean(axis=-1, keepdims=True)
    limit, reached = (rows.max(axis=-1, keepdims=True) for rows in (before, after))
    changed = (before.argmax(axis=-1) != after.argmax(axis=-1))[:, None] & (reached > limit)
    share = np.divide(limit - even, reached - even, out=np.ones_like(even), where=changed)
    return np.asarray(even + share * (after - even))


def _patterns(formats: str, characters: list[str]) -> list[_Pattern]:
    """Return every order of letters and digits that the formats allow."""
    is_letter = np.array([character.isalpha() for character in characters])
    is_zero = np.array([character == "0" for character in characters])
    rows = {"L": is_letter, "D": ~is_letter}
    patterns = []
    for order, firsts in _orders(formats).items():
        fits = np.array([rows[kind] for kind in order], np.float64)
        for place in firsts:
            fits[place, is_zero] = LEADING_ZERO_WEIGHT
        patterns.append(_Pattern(fits, np.maximum(fits, MISMATCH_IN_ANSWER)))
    return patterns


def _orders(formats: str) -> dict[str, set[int]]:
    """Each order, as "LLDDD", with the places where numbers without leading zeros begin.

    Where two formats have the same order, and one allows a zero at a place, it is allowed.
    """
    orders: dict[str, set[int]] = {}
    for one in formats.split():
        groups = re.findall(r"([LDN])(\d)(?:-(\d))?", one)
        lengths = [range(int(low), int(high or low) + 1) for _, low, high in groups]
        for chosen in product(*lengths):
            starts = accumulate(chosen, initial=0)
            firsts = {at for (kind, *_), at in zip(groups, starts, strict=False) if kind == "N"}
            order = "".join(
                ("L" if kind == "L" else "D") * length
                for (kind, *_), length in zip(groups, chosen, strict=True)
            )
            orders[order] = orders.get(order, firsts) & firsts
    return orders

"""Uses national plate formats to decide between 8 and B, 2 and Z, or 0 and O in unclear images.

The formats are a soft prior: a character of the wrong kind for its position has a weight of 0.05.
So a character with a probability above 0.953 only changes to one that looks the same, and plates
without a format (personalised, diplomatic, or of a wrongly guessed country) remain possible. With
formats, 2,262 of 2,597 new plates were read, without them 2,246 (tools/training/HISTORY.md).
"""

import json
import re
from itertools import accumulate, product
from typing import NamedTuple

import numpy as np

from recognition.settings import MODELS
from recognition.types import FloatArray, Slots


class _Pattern(NamedTuple):
    """A sequence of letters and digits: positions x characters, for matching and for weighting."""

    fits: FloatArray
    counts: FloatArray


MIN_REGION_PROBABILITY = 0.7
"""Minimum probability of a country whose formats are used."""

CERTAIN_PROBABILITY = 0.98
"""Readings with at least this mean probability are not changed."""

NO_FORMAT_SHARE = 0.3
"""Assumed fraction of a country's plates without a format."""

NO_UNNAMED_FORMAT_SHARE = 0.5
"""Assumed fraction of plates without a format in countries that the reader does not distinguish."""

MISMATCH_WHEN_MATCHING, MISMATCH_IN_ANSWER = 0.03, 0.05
"""Weight of a character of the wrong kind when matching a format, and in the result."""

LEADING_ZERO_WEIGHT = 0.2
"""Weight of a zero at the start of a number that must not begin with a zero."""

_FORMATS: dict[str, str] = json.loads((MODELS / "plate-formats.json").read_text())
"""Sequences of letters and digits in common series, by fast-plate-ocr's region names. ``L1-2D4`` is
one or two letters, then four digits. ``N1-4`` is a number of one to four digits without a leading
zero. Countries without a common format are not included. The United States and Canada have the
formats of their states and provinces, which readers confuse.

**Source:** the countries' rules, as summarised by Wikipedia's "Vehicle registration plates of ..."
(2026-11).
"""

_IDENTICAL = {"United States": "0O"}
"""Characters that a country's typefaces draw alike. The format decides between them."""

_IDENTICAL_POWER = 1 / 3
"""Power of the odds of identical characters. The reader knows them from usual texts, not shapes."""

_MIN_PROBABILITY = 1e-9

_UNNAMED = {"India": "L2D1-2L1-3D4", "Russia": "L1D3L2D2-3"}
"""Formats of countries whose plates have an unknown region in fast-plate-ocr's readers."""

_LETTERS_OF = {"Russia": "ABCEHKMOPTXY"}
"""Letters on the plates of countries that only use some letters (Russia: Latin look-alikes)."""


def unnamed_country(text: str) -> str | None:
    """Return the country without a region name whose format matches ``text`` (A-Z0-9), or None."""
    order = "".join("L" if character.isalpha() else "D" for character in text)
    for country, formats in _UNNAMED.items():
        letters = {character for character in text if character.isalpha()}
        if order in _orders(formats) and letters <= set(_LETTERS_OF.get(country, letters)):
            return country
    return None


class PlateFormats:
    """Formats of the countries that a reader distinguishes."""

    def __init__(self, alphabet: str, pad: int, regions: tuple[str, ...]) -> None:
        """Build the patterns of each region. ``pad`` is the index of the padding."""
        self._places = [i for i in range(len(alphabet)) if i != pad]
        self._pad = pad
        characters = [alphabet[i] for i in self._places]
        self._by_region = [_patterns(_FORMATS.get(name, ""), characters) for name in regions]
        drawn_alike = [_IDENTICAL.get(name, "") for name in regions]
        self._identical = [[i for i, c in enumerate(characters) if c in one] for one in drawn_alike]
        self._is_none = np.array([name == "Unknown" for name in regions])
        self._unnamed = [p for one in _UNNAMED.values() for p in _patterns(one, characters)]

    def apply(self, slots: Slots, region: FloatArray) -> Slots:
        """Return a reader's slots weighted by the formats of the most likely country.

        ``region`` contains the probability (0 to 1) of each country, in the order of ``regions``.
        Slots that are already certain, or do not have the length of a format, are not changed.
        """
        filled = slots.argmax(axis=-1) != self._pad
        patterns, share = self._patterns_of(int(filled.sum()), region)
        rows = np.flatnonzero(filled)[:, None]
        identical = self._identical[int(region.argmax())] if patterns else []
        shapes = _levelled(np.asarray(slots[rows, self._places], np.float64), identical)
        if not patterns or shapes.max(axis=-1).mean() >= CERTAIN_PROBABILITY:
            return slots
        weighted = np.array(slots, np.float64)
        weighted[rows, self._places] = _capped(shapes, _mixed(shapes, patterns, share), identical)
        return weighted

    def _patterns_of(self, length: int, region: FloatArray) -> tuple[list[_Pattern], float]:
        """Return the patterns of a length, and the assumed fraction of plates that follow them.

        The patterns are those of the most likely country, if the country is certain enough. If it
        has no patterns, those of the countries without a region name are used. The fraction depends
        on the probability that the country is unknown or its formats have other lengths.
        """
        of_length = [[p for p in own if len(p.fits) == length] for own in self._by_region]
        best = int(region.argmax())
        if own := of_length[best]:
            is_certain = region[best] >= MIN_REGION_PROBABILITY
            return own if is_certain else [], 1 - NO_FORMAT_SHARE
        pairs = zip(self._by_region, of_length, strict=True)
        others = [bool(all_) and not own for all_, own in pairs]
        unnamed = float(region[self._is_none | others].sum())
        patterns = [p for p in self._unnamed if len(p.fits) == length]
        return patterns, unnamed * (1 - NO_UNNAMED_FORMAT_SHARE)


def _mixed(slots: FloatArray, patterns: list[_Pattern], share: float) -> FloatArray:
    """Return the mean over all formats and no format, weighted by match. Sums stay the same."""
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


def _levelled(slots: FloatArray, identical: list[int]) -> FloatArray:
    """Return the slots with similar probabilities for identical characters. Keep the sums."""
    slots = slots.copy()
    odds = np.maximum(slots[:, identical], _MIN_PROBABILITY) ** _IDENTICAL_POWER
    total = slots[:, identical].sum(axis=-1, keepdims=True)
    slots[:, identical] = total * odds / odds.sum(axis=-1, keepdims=True)
    return slots


def _capped(before: FloatArray, after: FloatArray, identical: list[int]) -> FloatArray:
    """Return ``after``, with changed characters at most as likely as the previous characters were.

    The format decides between two similar characters, but is not evidence that the image shows
    either. The excess is distributed equally to all characters. Sums and order do not change.
    Between identical characters, only the format decides, so they are not limited.
    """
    alike = np.arange(before.shape[-1])
    alike[identical] = min(identical, default=0)
    even = after.mean(axis=-1, keepdims=True)
    limit, reached = (rows.max(axis=-1, keepdims=True) for rows in (before, after))
    is_other = alike[before.argmax(axis=-1)] != alike[after.argmax(axis=-1)]
    changed = is_other[:, None] & (reached > limit)
    share = np.divide(limit - even, reached - even, out=np.ones_like(even), where=changed)
    return np.asarray(even + share * (after - even))


def _patterns(formats: str, characters: list[str]) -> list[_Pattern]:
    """Return all sequences of letters and digits that the formats allow."""
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
    """Return each sequence, as "LLDDD", with the start positions of numbers without leading zeros.

    If two formats have the same sequence, a zero is allowed if either format allows it.
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

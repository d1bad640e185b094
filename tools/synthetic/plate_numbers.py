"""Numbers for plates: well formed, drawn at random, issued to nobody (see `layouts`)."""

from dataclasses import dataclass

import numpy as np

from tools.synthetic.layouts import Group, Layout

# A German or British plate may not spell these; neither do ours, anywhere in the text.
_NEVER = ("SS", "KKK", "NSU", "IS", "HH88", "FCK")


@dataclass(frozen=True)
class PlateNumber:
    """A number in its groups, row by row."""

    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """The number as a reader gives it: A-Z0-9, groups and rows joined."""
        return "".join("".join(row) for row in self.rows)


def random_number(layout: Layout, rng: np.random.Generator) -> PlateNumber:
    """Return a random number of this layout's pattern, free of combinations nobody is given."""
    while True:
        number = PlateNumber(
            tuple(tuple(_fill(group, rng) for group in row) for row in layout.rows)
        )
        if not any(word in number.text for word in _NEVER):
            return number


def number_of(layout: Layout, text: str) -> PlateNumber:
    """Split a normalised text into the groups of a layout.

    Raises ValueError if the layout cannot make this text.
    """
    if not layout.matches(text):
        raise ValueError(f"{text!r} is not a number of layout {layout.code}")
    rest = iter(text)
    return PlateNumber(
        tuple(tuple("".join(next(rest) for _ in group) for group in row) for row in layout.rows)
    )


def _fill(group: Group, rng: np.random.Generator) -> str:
    return "".join(slot[int(rng.integers(len(slot)))] for slot in group)

"""Draws how a training goes, while it goes: the same picture again and again."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

PANEL_INCHES = (4.2, 3.2)

Curves = Mapping[str, Mapping[float, float]]
"""Values by step or epoch, by what they are called."""


def draw_curves(curves: Curves, across: str, out: Path) -> None:
    """Write a PNG with a panel for each curve; ``across`` is what the values are by."""
    shown = {name: values for name, values in curves.items() if values}
    figure = Figure((PANEL_INCHES[0] * max(1, len(shown)), PANEL_INCHES[1]), layout="tight")
    for place, (name, values) in enumerate(shown.items()):
        panel = figure.add_subplot(1, len(shown), place + 1)
        panel.plot(list(values), list(values.values()), marker="." if len(values) < 50 else "")
        panel.set_title(name)
        panel.set_xlabel(across)
        panel.grid(alpha=0.3)
    fresh = out.with_suffix(".new.png")
    figure.savefig(fresh)
    fresh.replace(out)

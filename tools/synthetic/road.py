"""`python -m tools.synthetic.road --out clip.mp4 --truth passes.json`: a road scene with its truth.

Cars of several shapes with plates of many countries (see `layouts`: numbers that belong to nobody)
pass a fixed camera on a two-lane road, by day and at dusk.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tools.synthetic.clip import Encoding, generate_road_scene
from tools.synthetic.scene import RoadScene, RoadSceneOptions, SceneTruth, TruePass
from tools.synthetic.traffic import LightPlan

__all__ = [
    "LightPlan",
    "RoadScene",
    "RoadSceneOptions",
    "SceneTruth",
    "TruePass",
    "generate_road_scene",
]


def main(
    out: Annotated[Path, typer.Option(help="Where the clip goes (MP4).")],
    truth: Annotated[Path | None, typer.Option(help="Where the true passes go (JSON).")] = None,
    passes: Annotated[int, typer.Option(min=0, help="How many cars pass.")] = 24,
    seed: Annotated[int, typer.Option(help="The same seed makes the same clip.")] = 7,
    duration: Annotated[float | None, typer.Option(help="Seconds; as needed if left out.")] = None,
    light: Annotated[LightPlan, typer.Option(help="Mixed: day, then dusk.")] = LightPlan.MIXED,
    size: Annotated[str, typer.Option(help="Width x height, both even.")] = "1920x1080",
    encoding: Annotated[
        Encoding, typer.Option(help="Small: a third of the bytes, twice the time.")
    ] = Encoding.FAST,
    processes: Annotated[int | None, typer.Option(min=1, help="Two if left out.")] = None,
) -> None:
    """Make a clip of passing cars whose plates are known."""
    width, height = _size(size)
    options = RoadSceneOptions(passes, seed, duration, light, width, height)
    try:
        generate_road_scene(
            out, truth, options, encoding=encoding, processes=processes, progress=_show
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    print(out)


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(side) for side in text.split("x"))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not WIDTHxHEIGHT") from error
    if width < 64 or height < 64 or width % 2 or height % 2:
        raise typer.BadParameter(f"{text!r}: both sides must be even and 64 or more")
    return width, height


def _show(done: int, frames: int) -> None:
    print(f"road scene: {done} of {frames} frames", file=sys.stderr, flush=True)


if __name__ == "__main__":
    typer.run(main)

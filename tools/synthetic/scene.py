"""The passes in a clip of a road, as they are listed beside the demo clip."""

import msgspec


class TruePass(msgspec.Struct, frozen=True):
    """A pass. Times in seconds from the first frame, including the last frame in view.

    `plate` is A-Z0-9, `country` ISO 3166 (with the state for the US), widths are those of the
    plate in pixels of the clip. Readable times are None if the plate is always too small to read.
    """

    plate: str
    country: str
    layout: str
    heading: str
    light: str
    first_visible_s: float
    last_visible_s: float
    readable_from_s: float | None
    readable_to_s: float | None
    min_width_px: int
    max_width_px: int


class SceneTruth(msgspec.Struct, frozen=True):
    """The content of a clip's list of passes."""

    width_px: int
    height_px: int
    fps: int
    duration_s: float
    seed: int
    passes: tuple[TruePass, ...]

"""Draws texts that are not plates: signs, phone numbers, time stamps and screens."""

from pathlib import Path

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from recognition.types import Box, overlap_coefficient
from tools.synthetic import lettering
from tools.synthetic.lettering import Face
from tools.training.photos import Image, as_image

FONTS = Path(lettering.__file__).parent / "fonts"

WRITING_HEIGHT = (0.02, 0.14)
_FACES = (Face.DIN, Face.ROAD, Face.ROAD_WIDE, Face.ROAD_NARROW)
_WORDS = (
    "OPEN CLOSED PARKING EXIT TAXI STOP SALE HOTEL COFFEE POLICE BUS SCHOOL ONLY SPEED LIMIT LANE "
    "www.autohaus.com info@garage.org Rent a car Drive safely CAM 01 GATE 2 MARKET TURBO Diesel"
)

SCREEN_WIDTH, SCREEN_HEIGHT = 640, (360, 641)
LINE_HEIGHT_PX = (13, 46)
"""Height of the buttons and rows of a rendered screen."""

FILLED_SHARE = 0.8
GREY_SHARE = 0.5


def add_writing(
    image: Image, keep_clear: tuple[Box, ...], rng: np.random.Generator, count: int
) -> Image:
    """Return the photo with up to ``count`` signs, phone numbers or time stamps outside plates."""
    image = image.copy()
    for _ in range(count):
        sign = _sign(image.shape[0] * rng.uniform(*WRITING_HEIGHT), rng)
        top, left = (int(rng.integers(0, max(1, image.shape[i] - sign.shape[i]))) for i in (0, 1))
        part = image[top : top + sign.shape[0], left : left + sign.shape[1]]
        place = (left, top, left + part.shape[1], top + part.shape[0])
        if not any(overlap_coefficient(place, box) for box in keep_clear):
            sign = sign[: part.shape[0], : part.shape[1]]
            ink = sign[..., 3:] / 255.0
            part[:] = (part * (1 - ink) + sign[..., :3] * ink).astype(np.uint8)
    return image


def screen(rng: np.random.Generator) -> Image:
    """Return an image of a screen or printed table: buttons, rows, columns, words and numbers."""
    height = int(rng.integers(*SCREEN_HEIGHT))
    ink, ground = two_colours(rng)
    if rng.random() < GREY_SHARE:
        ground = ground.mean().astype(int).repeat(3)
    picture = PillowImage.new("RGB", (SCREEN_WIDTH, height), triple(ground))
    draw = ImageDraw.Draw(picture)
    line = int(rng.integers(*LINE_HEIGHT_PX))
    font = _font(line * rng.uniform(0.4, 0.75), rng)
    gap, bordered = float(rng.uniform(0, 0.8) * line), rng.random() < 0.6
    fills = [np.clip(ground + rng.integers(-40, 41, 3), 0, 255), rng.integers(0, 256, 3), ground]
    columns = np.cumsum(rng.uniform(1.5, 9, 40) * line)
    for top in np.arange(rng.uniform(0, 2) * line, height, line + gap):
        for left, right in zip(columns, columns[1:] - gap, strict=False):
            if rng.random() > FILLED_SHARE or right < left + line:
                continue
            fill = fills[int(rng.integers(len(fills)))]
            edge = triple(ink) if bordered else None
            shape = (left, top, right, top + line)
            draw.rounded_rectangle(shape, rng.uniform(0, 0.3) * line, triple(fill), edge)
            contrast = ink if abs(int(fill.mean()) - int(ink.mean())) > 60 else 255 - fill
            text = _fitting(_line(rng), font, right - left)
            middle = ((left + right) / 2, top + line / 2)
            draw.text(middle, text, font=font, fill=triple(contrast), anchor="mm")
    return as_image(np.asarray(picture))


def two_colours(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two random colours (0–255). In 60 % of cases, one is dark and the other light."""
    if rng.random() < 0.4:
        return rng.integers(0, 256, 3), rng.integers(0, 256, 3)
    dark, light = rng.integers(0, 70, 3), rng.integers(170, 256, 3)
    return (dark, light) if rng.random() < 0.5 else (light, dark)


def _sign(height: float, rng: np.random.Generator) -> np.ndarray:
    """Return a text as H×W×4 RGBA, with a random background or, like time stamps, without one."""
    letters = max(7, round(height))
    face = _FACES[int(rng.integers(len(_FACES)))].value
    font = ImageFont.truetype(str(FONTS / face), letters)
    rows = [_line(rng) for _ in range(int(rng.integers(1, 4)))]
    width = max(int(font.getlength(row)) for row in rows) + letters
    tall = round(letters * (1.25 * len(rows) + rng.uniform(0.3, 1.2)))
    ink, ground = two_colours(rng)
    ground_alpha = 255 if rng.random() < 0.6 else 0
    picture = PillowImage.new("RGBA", (width, tall), (*map(int, ground), ground_alpha))
    for i, row in enumerate(rows):
        place = (letters * 0.5, letters * (0.2 + 1.25 * i))
        ImageDraw.Draw(picture).text(place, row, font=font, fill=(*map(int, ink), 255))
    return np.asarray(picture)


def _line(rng: np.random.Generator) -> str:
    if rng.random() < 0.35:  # a phone number
        groups = [str(rng.integers(0, 10 ** int(rng.integers(2, 5)))) for _ in range(4)]
        return "-: /"[int(rng.integers(4))].join(groups)
    return " ".join(str(w) for w in rng.choice(_WORDS.split(), int(rng.integers(1, 4))))


def _font(size: float, rng: np.random.Generator) -> ImageFont.FreeTypeFont:
    if rng.random() < 0.6:
        own = ImageFont.load_default(max(7, round(size)))
        assert isinstance(own, ImageFont.FreeTypeFont)
        return own
    face = _FACES[int(rng.integers(len(_FACES)))].value
    return ImageFont.truetype(str(FONTS / face), max(7, round(size)))


def _fitting(text: str, font: ImageFont.FreeTypeFont, width: float) -> str:
    """Return as much of the beginning of the text as fits in the width."""
    while text and font.getlength(text) > 0.95 * width:
        text = text[:-1]
    return text


def triple(colour: np.ndarray) -> tuple[int, int, int]:
    """Return a colour as a tuple of integers, as Pillow and the layouts require."""
    first, second, third = (int(v) for v in colour)
    return first, second, third

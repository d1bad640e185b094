"""Writes a small labelled data set of drawn images for the training commands."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from recognition.types import BgrImage
from tests.integration.streams.recognition.scenes import Parked, car_scene, plate_image
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import random_plate
from tools.training.photos import Image
from tools.training.writing import screen

_PHOTOS, _VAL_EVERY = 60, 4
_SCREENS = 12
_SIZE_PX = (960, 540)


def write_photos(folder: Path) -> None:
    """Write ``scenes.jsonl`` and ``crops.jsonl`` of drawn cars, and the images listed there."""
    rng = np.random.default_rng(3)
    (folder / "photos").mkdir(parents=True)
    (folder / "crops").mkdir()
    photos: list[dict[str, Any]] = []
    crops: list[dict[str, Any]] = []
    for number in range(_PHOTOS):
        name, split = f"{number:04d}.jpg", "train" if number % _VAL_EVERY else "val"
        text = random_plate(rng, BY_CODE["it"]).text
        frame, box = _photo(text, number, rng)
        plate = {"text": text, "uncertain": False, "region": "IT"}
        cv2.imwrite(str(folder / "photos" / name), frame)
        photos.append(
            {
                "image": f"photos/{name}",
                "width": frame.shape[1],
                "height": frame.shape[0],
                "split": split,
                "exhaustive": False,
                "plates": [plate | {"box": box}],
            }
        )
        left, top, right, bottom = (round(edge) for edge in box)
        cv2.imwrite(str(folder / "crops" / name), frame[top:bottom, left:right])
        crops.append(plate | {"image": f"crops/{name}", "split": split, "scene": None})
    _write_lines(folder / "scenes.jsonl", photos)
    _write_lines(folder / "crops.jsonl", crops)


def write_screens(folder: Path) -> None:
    """Write images without a plate into a folder."""
    rng = np.random.default_rng(5)
    for index in range(_SCREENS):
        image: Image = screen(rng)
        cv2.imwrite(str(folder / f"{index}.png"), np.ascontiguousarray(image[..., ::-1]))


def _photo(text: str, seed: int, rng: np.random.Generator) -> tuple[BgrImage, list[float]]:
    """Return an image of a car at a random position, and the box of the car's plate."""
    car = Parked(text, int(rng.integers(260, 1020)), int(rng.integers(260, 600)))
    whole = car_scene([car], seed)
    height, width = plate_image(text).shape[:2]
    share = _SIZE_PX[0] / whole.shape[1]
    left, top = car.x_px - width // 2, car.y_px - height // 2
    box = [edge * share for edge in (left, top, left + width, top + height)]
    return np.asarray(cv2.resize(whole, _SIZE_PX, interpolation=cv2.INTER_AREA), np.uint8), box


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

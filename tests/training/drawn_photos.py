"""Writes a small labelled data set of drawn images, as the training commands take it."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from tools.evaluation.photos import Image
from tools.synthetic.road import LightPlan, RoadScene, RoadSceneOptions
from tools.synthetic.scene import FPS
from tools.training.writing import screen

_PASSES, _EVERY = 8, 8
_LEAST_PLATE_PX = 30
_VAL_EVERY = 4
_SCREENS = 12


def write_photos(folder: Path) -> None:
    """Write ``scenes.jsonl`` and ``crops.jsonl`` of a drawn road, and the images they name."""
    scene = RoadScene(
        RoadSceneOptions(passes=_PASSES, seed=3, light=LightPlan.DAY, width_px=960, height_px=540)
    )
    (folder / "photos").mkdir(parents=True)
    (folder / "crops").mkdir()
    photos: list[dict[str, Any]] = []
    crops: list[dict[str, Any]] = []
    for index in range(0, scene.frame_count, _EVERY):
        plates = _plates(scene, index / FPS)
        if not plates:
            continue
        split = "train" if len(photos) % _VAL_EVERY else "val"
        frame = next(scene.frames(index, index + 1))[1]
        name = f"{index:04d}.jpg"
        cv2.imwrite(str(folder / "photos" / name), frame)
        photos.append(
            {
                "image": f"photos/{name}",
                "width": frame.shape[1],
                "height": frame.shape[0],
                "split": split,
                "exhaustive": False,
                "plates": plates,
            }
        )
        left, top, right, bottom = (round(edge) for edge in plates[0]["box"])
        cv2.imwrite(str(folder / "crops" / name), frame[top:bottom, left:right])
        crops.append(
            {
                "image": f"crops/{name}",
                "split": split,
                "text": plates[0]["text"],
                "uncertain": False,
                "region": plates[0]["region"],
                "scene": None,
            }
        )
    _write_lines(folder / "scenes.jsonl", photos)
    _write_lines(folder / "crops.jsonl", crops)


def write_screens(folder: Path) -> None:
    """Write images without a plate into a folder."""
    rng = np.random.default_rng(5)
    for index in range(_SCREENS):
        image: Image = screen(rng)
        cv2.imwrite(str(folder / f"{index}.png"), np.ascontiguousarray(image[..., ::-1]))


def _plates(scene: RoadScene, time_s: float) -> list[dict[str, Any]]:
    plates = []
    for planned in scene.timetable.passes:
        corners = scene.plate_corners(planned, time_s)
        if corners is None:
            continue
        (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
        if right - left >= _LEAST_PLATE_PX:
            plates.append(
                {
                    "text": planned.number.text,
                    "uncertain": False,
                    "box": [float(left), float(top), float(right), float(bottom)],
                    "region": planned.pose.layout.country,
                }
            )
    return plates


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

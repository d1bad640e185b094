"""Evaluates a list of photos with a pair of models: what the command line and benchmarks share."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common.errors import InvalidInputError
from recognition.engine import Recognizer
from tools.evaluation.photos import Photo
from tools.evaluation.report import Miss, misses
from tools.evaluation.run import Looked, look_at, seen_nothing
from tools.evaluation.summary import Summary, summarise


@dataclass(frozen=True)
class Evaluation:
    """Every photo that was looked at, the figures over them, and a picture of every mistake.

    ``refused`` says of each photo that is no picture to the engine what is wrong with it; nothing
    is found on those.
    """

    looked: tuple[Looked, ...]
    summary: Summary
    misses: tuple[Miss, ...]
    refused: tuple[str, ...] = ()


def evaluate(
    photos: list[Photo],
    recognizer: Recognizer,
    advance: Callable[[], object] = lambda: None,
    *,
    pictures: bool = True,
) -> Evaluation:
    """Look at all photos, calling ``advance`` after each; without ``pictures``, no misses.

    Raises:
        OSError: a photo cannot be read.
    """
    looked: list[Looked] = []
    wrong: list[Miss] = []
    refused: list[str] = []
    for photo in photos:
        try:
            one, image = look_at(photo, recognizer)
        except InvalidInputError as error:
            refused.append(f"{photo.name}: {error}")
            one, image = seen_nothing(photo)
        looked.append(one)
        if pictures:
            wrong += misses(one, image)
        advance()
    return Evaluation(tuple(looked), summarise(looked), tuple(wrong), tuple(refused))


def write_predictions(path: Path, looked: tuple[Looked, ...]) -> None:
    """Write one JSON object a photo and line: what was found and read, before any threshold."""
    path.write_text("".join(map(_line, looked)), encoding="utf-8")


def _line(one: Looked) -> str:
    plates = [{"text": s.text, "conf": s.confidence, "box": s.box} for s in one.said]
    return json.dumps({"image": one.photo.name, "plates": plates, "ms": one.cpu_ms}) + "\n"

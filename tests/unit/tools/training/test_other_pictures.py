import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from recognition.detection.detector import Detector
from recognition.types import BgrImage, Detection
from tools.training import other_pictures
from tools.training.other_pictures import (
    LARGEST_PX,
    LEAST_PX,
    Half,
    half_of,
    pictures,
    write_found,
)


def write_blocks(path: Path, width: int, height: int, rng: np.random.Generator) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    blocks = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
    cv2.imwrite(str(path), cv2.resize(blocks, (width, height), interpolation=0))


def test_each_image_is_of_one_half(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for number in range(9):
        write_blocks(tmp_path / "a" / f"{number}.png", 120, 120, rng)
    halves = [{image.tobytes() for image in half_of(tmp_path, half)} for half in Half]
    assert [len(half) for half in halves] == [5, 4]
    assert set.union(*halves) == {image.tobytes() for image in pictures(tmp_path)}


def test_not_too_many_images_of_one_folder_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_pictures, "MAX_A_FOLDER", 2)
    rng = np.random.default_rng(4)
    for name in ("a/deep/1", "a/deep/2", "a/3", "b/1", "1", "2", "3"):
        write_blocks(tmp_path / f"{name}.png", 120, 120, rng)
    assert sum(1 for _ in pictures(tmp_path)) == 5


def test_images_that_look_alike_come_once_and_small_or_broken_ones_never(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for name, side in (("a/one.png", 120), ("b/two.jpg", 120), ("b/small.png", LEAST_PX - 1)):
        write_blocks(tmp_path / name, side, side, rng)
    (tmp_path / "b" / "again.png").write_bytes((tmp_path / "a" / "one.png").read_bytes())
    (tmp_path / "b" / "broken.png").write_bytes(b"no image")
    (tmp_path / "b" / "notes.txt").write_text("no image either")
    assert [image.shape for image in pictures(tmp_path)] == [(120, 120, 3)] * 2


class FindsInWide(Detector):
    """Detects a plate in every image that is wider than high."""

    def __init__(self) -> None:
        pass

    def detect(self, image: BgrImage) -> list[Detection]:
        is_wide = image.shape[1] > image.shape[0]
        return [Detection(1.0, 1.0, 9.0, 9.0, 0.9, "plate")] if is_wide else []


def test_what_the_detector_finds_something_on_is_written_no_larger_than_needed(
    tmp_path: Path,
) -> None:
    rng, out = np.random.default_rng(6), tmp_path / "out"
    for number in range(8):
        height = 400 if number % 2 else 2400
        write_blocks(tmp_path / "in" / f"{number}.png", 1600, height, rng)
    count = write_found(tmp_path / "in", FindsInWide(), out)
    written = [cv2.imread(str(path)) for path in sorted(out.glob("*.jpg"))]
    wide = [p for p in half_of(tmp_path / "in", Half.LEARNT) if p.shape[1] > p.shape[0]]
    assert count == len(written) == len(wide) > 0
    assert {p.shape for p in written if p is not None} == {(LARGEST_PX // 4, LARGEST_PX, 3)}


def test_a_folder_that_is_there_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.jpg").write_bytes(b"mine")
    monkeypatch.setattr(sys, "argv", ["x", "--others", str(tmp_path), "--out", str(tmp_path)])
    with pytest.raises(SystemExit):
        other_pictures.main()
    assert "already exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jpg"]

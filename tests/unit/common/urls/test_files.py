"""Video files as cameras: only container formats, and only inside the folder."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from common.errors import InvalidInputError
from common.urls.files import video_file
from deploy.local.camera import DEMO_CLIP


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


def _clip(path: Path) -> Path:
    path.write_bytes(DEMO_CLIP.read_bytes()[:4096])
    return path


def test_a_clip_in_the_folder_is_found_by_its_real_path(folder: Path, tmp_path: Path) -> None:
    clip = _clip(folder / "a b.mp4")
    (folder / "link.mp4").symlink_to(clip)
    (tmp_path / "other-name").symlink_to(folder)

    for path in (clip, folder / "link.mp4", folder / "x" / ".." / "a b.mp4"):
        (folder / "x").mkdir(exist_ok=True)
        assert video_file(str(path), folder) == clip
    assert video_file(str(clip), tmp_path / "other-name") == clip


def _refusal(path: Path | str, folder: Path | None) -> str:
    with pytest.raises(InvalidInputError) as refused:
        video_file(str(path), folder)
    assert refused.value.code == "stream_url_file"
    return str(refused.value)


def test_every_fault_has_the_same_message(folder: Path, tmp_path: Path) -> None:
    outside = _clip(tmp_path / "outside.mp4")
    (folder / "out.mp4").symlink_to(outside)
    (folder / "ring.mp4").symlink_to(folder / "ring.mp4")
    (folder / "folder.mp4").mkdir()
    (tmp_path / "files-too").mkdir()
    beside = _clip(tmp_path / "files-too" / "clip.mp4")
    refused: list[Path | str] = [
        outside,
        beside,
        folder / ".." / "outside.mp4",
        folder / "out.mp4",
        folder / "ring.mp4",
        folder / "folder.mp4",
        folder / "absent.mp4",
        folder,
        "/etc/passwd",
        "/dev/zero",
        "/" + "x" * 5000,
        f"{folder}/a\0b",
    ]

    assert len({_refusal(path, folder) for path in refused}) == 1
    assert _refusal(_clip(folder / "a.mp4"), None) == _refusal("/etc/passwd", folder)


def test_a_file_of_images_is_not_a_camera(folder: Path) -> None:
    """A segment of Kafka's log is such a file: FFmpeg reads it as a series of JPEG images."""
    _, encoded = cv2.imencode(".jpg", np.zeros((64, 64, 3), np.uint8))
    jpeg = encoded.tobytes()
    segment = folder / "00000000000000000000.log"
    segment.write_bytes(bytes(61) + b"\x02" + jpeg * 3)
    stream = folder / "stream.mjpeg"
    stream.write_bytes(jpeg * 5)
    text = folder / "list.m3u8"
    text.write_text("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n")

    for path in (segment, stream, text):
        _refusal(path, folder)


def test_transport_streams_are_containers(folder: Path) -> None:
    packet = b"\x47" + bytes(187)
    plain, timed = folder / "a.ts", folder / "a.m2ts"
    plain.write_bytes(packet * 4)
    timed.write_bytes((bytes(4) + packet) * 4)

    assert video_file(str(plain), folder) == plain
    assert video_file(str(timed), folder) == timed
    plain.write_bytes(packet + bytes(1000))
    _refusal(plain, folder)

"""The images: a list of their keys, or the images themselves with it."""

import gzip
import mimetypes
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from api.backup.manifest import BackupError, BackupFile, Steps, described
from common.records.object_keys import RECOGNITION_FOLDER, SNAPSHOT_FOLDER
from common.s3 import S3Bucket

_T = TypeVar("_T")
_LIST: Final = "images.jsonl.gz"
_FOLDER: Final = "images"
_AT_ONCE: Final = 8
_BATCH: Final = 256


class _Image(msgspec.Struct, frozen=True, omit_defaults=True):
    """An object of the bucket; the sum is that of a copy."""

    key: str
    sha256: str = ""
    metadata: dict[str, str] = {}


def dump_images(bucket: S3Bucket, folder: Path, steps: Steps, *, copies: bool) -> BackupFile:
    """Write the list of all images, and with ``copies`` the images.

    Raises:
        S3UnavailableError: S3 does not answer.
    """
    path = folder / _LIST
    keys = [key for part in (RECOGNITION_FOLDER, SNAPSHOT_FOLDER) for key in bucket.keys(part)]

    def copied(key: str) -> _Image | None:
        found = bucket.get(key)
        if found is None:
            # Removed since it was listed.
            return None
        place = _place(folder, key)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(found.data)
        return _Image(key, sha256(found.data).hexdigest(), dict(found.metadata))

    with gzip.open(path, "wb", compresslevel=3) as file, ThreadPoolExecutor(_AT_ONCE) as threads:
        for batch in steps(_batches(keys), "images"):
            made = threads.map(copied, batch) if copies else map(_Image, batch)
            for image in made:
                if image is not None:
                    file.write(msgspec.json.encode(image) + b"\n")
    return described(folder, path)


def load_images(bucket: S3Bucket, folder: Path, files: Sequence[BackupFile], steps: Steps) -> int:
    """Put images back that are copied and not there, and return how many.

    Raises:
        S3UnavailableError: S3 does not take them.
        BackupError: one is not as it was written.
    """

    def put(image: _Image) -> bool:
        if bucket.has(image.key):
            return False
        data = _place(folder, image.key).read_bytes()
        if sha256(data).hexdigest() != image.sha256:
            raise BackupError(f"the image {image.key} is not as it was written")
        kind = mimetypes.guess_type(image.key)[0] or "application/octet-stream"
        bucket.put(image.key, data, kind, image.metadata)
        return True

    batches = _batches(list(_listed(folder, files)))
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return sum(sum(threads.map(put, batch)) for batch in steps(batches, "images"))


def count_missing(bucket: S3Bucket, folder: Path, files: Sequence[BackupFile]) -> int:
    """Return how many images of the list are not in the bucket.

    Raises:
        S3UnavailableError: S3 does not answer.
    """
    there: set[str] = set()
    for part in (RECOGNITION_FOLDER, SNAPSHOT_FOLDER):
        there.update(bucket.keys(part))
    return sum(image.key not in there for image in _listed(folder, files))


def _batches(items: Sequence[_T]) -> list[Sequence[_T]]:
    return [items[start : start + _BATCH] for start in range(0, len(items), _BATCH)]


def _listed(folder: Path, files: Iterable[BackupFile]) -> Iterator[_Image]:
    for file in files:
        with gzip.open(folder / file.path) as lines:
            for line in lines:
                yield msgspec.json.decode(line, type=_Image)


def _place(folder: Path, key: str) -> Path:
    """Return where a copy lies.

    Raises:
        BackupError: the key leads out of the folder.
    """
    place = folder / _FOLDER / key
    if not place.resolve().is_relative_to((folder / _FOLDER).resolve()):
        raise BackupError(f"{key} is no key of an image")
    return place

"""Images that S3 refuses to delete."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from minio import Minio
from minio.deleteobjects import DeleteError, DeleteObject


def lock_images(monkeypatch: pytest.MonkeyPatch, locked: Iterable[str | None]) -> None:
    """Make S3 respond for these keys as if the objects were locked."""
    names = frozenset(locked)
    remove = Minio.remove_objects

    def remove_others(
        self: Minio, bucket: str, objects: Iterable[DeleteObject], **options: Any
    ) -> Iterator[DeleteError]:
        wanted = list(objects)
        yield from remove(self, bucket, [one for one in wanted if one.name not in names])
        for one in wanted:
            if one.name in names:
                yield DeleteError("AccessDenied", "it is locked", one.name, None)

    monkeypatch.setattr(Minio, "remove_objects", remove_others)

"""Images of erased recognitions are deleted, and images that S3 refuses do not block others."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

import pytest

from analytics_sql.erased_images import ErasedImages
from api.adapters.image_store import ImageStore
from api.erasure.images import ErasedImageRemoval, RemovedImages
from api.errors import Dependency, DependencyUnavailableError
from tests.clock import Clock

OWNER, STRANGER = UUID(int=1), UUID(int=2)


def noted(number: int, owner: UUID = OWNER) -> ErasedImages:
    return ErasedImages(
        noted_ms=number,
        user_id=owner,
        id=UUID(int=number),
        photo_key=f"{number}/photo",
        crop_key=f"{number}/crop",
    )


class Notes:
    def __init__(self, count: int) -> None:
        self.left = [noted(number) for number in range(count)]

    async def list_images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        last_ms = -1 if after is None else after.noted_ms
        found = [each for each in self.left if each.noted_ms > last_ms]
        return tuple(each for each in found if owner_id in (None, each.user_id))[:limit]

    async def mark_removed(self, images: tuple[ErasedImages, ...]) -> None:
        self.left = [each for each in self.left if each not in images]


class Images:
    """An image store that refuses to delete some images, or is unavailable."""

    def __init__(self, *refused: str) -> None:
        self.refused = frozenset(refused)
        self.asked: list[str] = []
        self.is_unavailable = False

    async def remove(self, keys: Sequence[str]) -> frozenset[str]:
        if self.is_unavailable:
            raise DependencyUnavailableError(Dependency.IMAGES)
        self.asked += keys
        return self.refused & set(keys)


def removal(notes: Notes, images: Images, clock: Clock | None = None) -> ErasedImageRemoval:
    store = cast(ImageStore, images)
    return ErasedImageRemoval(notes, store, batch_size=2, clock=clock or Clock())


async def test_sweeps_pass_over_what_is_refused() -> None:
    notes, images = Notes(6), Images("0/crop", "1/photo", "1/crop")
    sweeper = removal(notes, images)

    assert [await sweeper.sweep() for _ in range(5)] == [1, 4, 4, 0, 0]
    assert notes.left == [noted(0), noted(1)]
    assert images.asked.count("1/crop") == 1


async def test_new_notes_are_removed_at_once_and_refused_ones_tried_again_later() -> None:
    notes, images, clock = Notes(1), Images("0/crop"), Clock(0.0)
    sweeper = removal(notes, images, clock)
    assert await sweeper.sweep() == 1
    notes.left.append(noted(7))

    assert [await sweeper.sweep() for _ in range(2)] == [2, 0]
    assert notes.left == [noted(0)]
    images.refused = frozenset()
    clock.seconds = 601
    assert await sweeper.sweep() == 2
    assert notes.left == []


async def test_a_store_that_is_unavailable_loses_no_place() -> None:
    notes, images = Notes(3), Images()
    sweeper = removal(notes, images)
    images.is_unavailable = True
    with pytest.raises(DependencyUnavailableError):
        await sweeper.sweep()
    images.is_unavailable = False

    assert [await sweeper.sweep() for _ in range(3)] == [4, 2, 0]
    # A note with an earlier time, from a clock that is slow, is processed as well.
    notes.left.append(noted(0))
    assert await sweeper.sweep() == 2


async def test_all_of_an_owner_but_what_is_refused() -> None:
    notes, images = Notes(5), Images("1/photo")
    notes.left.append(noted(9, STRANGER))

    assert await removal(notes, images).delete_all_for_owner(OWNER) == RemovedImages(9, 1)
    assert notes.left == [noted(1), noted(9, STRANGER)]
    assert await removal(notes, images).delete_all_for_owner(UUID(int=3)) == RemovedImages(0, 0)

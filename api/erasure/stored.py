"""What is stored of a plate or of an owner, erased for good: rows in ClickHouse, images in S3."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from analytics_sql.erasures import Erasure
from api.erasure.images import ErasedImageRemoval
from api.erasure.models import ErasedOwner, ErasedPlate
from api.erasure.rows import open_rows
from api.image_store import ImageStore, RemovalRefusedError
from api.parts import PartAwayError
from contracts.object_keys import RECOGNITION_FOLDER, SNAPSHOT_FOLDER
from contracts.settings import ClickHouseSettings, DatabaseSettings, S3Settings


class ErasureSettings(DatabaseSettings, ClickHouseSettings, S3Settings):
    """Where everything is that may hold what is erased."""


async def erase_stored_plate(
    settings: ErasureSettings, owner_id: UUID, plate: str, *, before_ms: int
) -> ErasedPlate:
    """Erase what was captured of an owner's plate (normalised) before a moment (Unix ms, UTC).

    Images that S3 does not remove stay noted: the API removes them once it does. May be repeated.

    Raises:
        TransientError: ClickHouse is away or busy.
    """
    async with open_rows(settings) as rows:
        erased = await rows.erase(Erasure(owner_id, plate, before_ms))
        with _image_store(settings) as images:
            removal = ErasedImageRemoval(rows, images)
            try:
                removed = await removal.remove_all_of(owner_id)
            except PartAwayError:
                return ErasedPlate(erased, images=None)
    return ErasedPlate(erased, images=removed)


async def erase_stored_owner(settings: ErasureSettings, owner_id: UUID) -> ErasedOwner:
    """Erase all that is stored of an owner. May be repeated.

    Raises:
        TransientError: ClickHouse or S3 is away or busy.
    """
    async with open_rows(settings) as rows:
        erased = await rows.erase(Erasure(owner_id))
    return ErasedOwner(erased, images=await erase_stored_images(settings, owner_id))


async def erase_stored_images(settings: S3Settings, owner_id: UUID) -> int:
    """Erase all images that S3 has of an owner, and return how many. May be repeated.

    Raises:
        TransientError: S3 is away or busy, or refuses to remove some: all others are removed.
    """
    removed, refusals = 0, list[RemovalRefusedError]()
    with _image_store(settings) as images:
        for folder in (RECOGNITION_FOLDER, SNAPSHOT_FOLDER):
            try:
                while some := await images.remove_some(f"{folder}{owner_id}/"):
                    removed += some
            except RemovalRefusedError as error:
                refusals.append(error)
    if refusals:
        raise refusals[0]
    return removed


@contextmanager
def _image_store(settings: S3Settings) -> Iterator[ImageStore]:
    images = ImageStore(settings)
    try:
        yield images
    finally:
        images.close()

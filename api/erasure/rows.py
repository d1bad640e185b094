"""ClickHouse as erasing sees it. With the sink, the only ones that change its tables."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from analytics_sql.analysts.names import erase_names
from analytics_sql.client import ClickHouseClient
from analytics_sql.erased_images import ErasedImages, images_to_remove, note_removed
from analytics_sql.erasure import (
    Erasure,
    NotedErasure,
    erase_camera_counts,
    erase_deliveries,
    erase_outcomes,
    erase_recognitions,
    erase_triggers,
    note_again,
    note_erasure,
    noted_erasures,
    plates_of_owner,
)
from api.erasure.models import ErasedRows, Misreading
from common.settings import ClickHouseSettings

_STATEMENT_SECONDS = 3600
"""ClickHouse rewrites each month that holds something of what is erased."""


_PASS_MS = 60_000
"""What was told of a pass early has a time of its own, this near to the recognition's."""


@asynccontextmanager
async def open_rows(settings: ClickHouseSettings) -> AsyncIterator["ErasableRows"]:
    """Yield what erases rows.

    Raises:
        TransientError: nobody answers there.
        MisconfiguredError: user, password or database is wrong.
    """
    client = ClickHouseClient(settings, query_seconds=_STATEMENT_SECONDS)
    await client.connect()
    try:
        yield ErasableRows(client)
    finally:
        await client.close()


class ErasableRows:
    """The rows of all owners. All calls raise TransientError: ClickHouse is unavailable or busy."""

    def __init__(self, client: ClickHouseClient) -> None:
        """``client`` waits for long statements."""
        self._client = client

    async def erase(self, erasure: Erasure) -> ErasedRows:
        """Note an erasure, so that the sink writes nothing more of it, and erase what is there.

        The images of an erased plate are noted, those of an owner are not.
        """
        client = self._client
        await note_erasure(client, erasure)
        if erasure.plate is None:
            await erase_names(client, erasure.user_id)
            await erase_camera_counts(client, erasure)
        has_images_noted = erasure.plate is not None
        return ErasedRows(
            recognitions=await erase_recognitions(client, erasure, noting_images=has_images_noted),
            triggers=await erase_triggers(client, erasure),
            deliveries=await erase_deliveries(client, erasure),
            outcomes=await erase_outcomes(client, erasure),
        )

    async def noted(self) -> list[NotedErasure]:
        """Return the erasures of thirty days."""
        return await noted_erasures(self._client)

    async def note_again(self, erasures: Sequence[NotedErasure]) -> None:
        """Note erasures whose notes a restore has removed."""
        await note_again(self._client, erasures)

    async def plates_of(self, owner_id: UUID) -> set[str]:
        """Return the plates of an owner's recognitions and triggers."""
        return await plates_of_owner(self._client, owner_id)

    async def erase_misread(self, owner_id: UUID, misread: Sequence[Misreading]) -> ErasedRows:
        """Erase single recognitions, with what alerts and deliveries of their time say of them.

        They are not noted: another vehicle may bear that text.
        """
        client, erased = self._client, ErasedRows(0, 0, 0, 0)
        for at_ms, text in misread:
            one = Erasure(owner_id, text, before_ms=at_ms + 1, from_ms=at_ms)
            near = Erasure(
                owner_id, text, before_ms=at_ms + _PASS_MS, from_ms=max(0, at_ms - _PASS_MS)
            )
            erased += ErasedRows(
                recognitions=await erase_recognitions(client, one),
                triggers=await erase_triggers(client, near),
                deliveries=await erase_deliveries(client, near),
                outcomes=0,
            )
        return erased

    async def images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        """Return the images of at most ``limit`` recognitions, of one owner or of all."""
        return await images_to_remove(self._client, limit, owner_id, after)

    async def note_removed(self, images: tuple[ErasedImages, ...]) -> None:
        """Note that images are removed."""
        await note_removed(self._client, images)

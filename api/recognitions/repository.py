"""ClickHouse as the API asks it: recognitions, alerts that fired, deliveries, counts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.analytics import OwnerSpan, Traffic, count_traffic
from analytics_sql.attempts import (
    DeliveryFilter,
    DeliveryPlace,
    DeliverySummary,
    WebhookSpan,
    deliveries_between,
    delivery_content,
    list_deliveries,
)
from analytics_sql.connection import clickhouse_errors, connect
from analytics_sql.erased_images import ErasedImages, images_to_remove, note_removed
from analytics_sql.erasures import Erasures, list_erasures
from analytics_sql.migrate import check_schema
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
    get_recognition,
    list_recognitions,
)
from analytics_sql.trigger_queries import (
    CooldownQuestion,
    Fired,
    HoldingTrigger,
    SpanRow,
    TriggerCount,
    count_triggers,
    nearest_trigger,
    span_rows,
    triggers_of,
)
from api.parts import Part, PartAwayError
from api.patience import Patience, http_probe
from contracts.errors import TransientError
from contracts.settings import ClickHouseSettings

_QUERY_SECONDS = 10.0


class ClickHouseStore:
    """Searches the recognitions of all owners; every call names the owner it acts for."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        """Take the settings; the first call connects."""
        self._settings = settings
        self._client: AsyncClient | None = None
        self._connecting = asyncio.Lock()
        # Not over the client, whose connections may all be at work.
        self._patience = Patience(Part.SEARCH, http_probe(settings.clickhouse_url))

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        """Return at most ``limit`` recognitions, newest first, from behind ``after``.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await list_recognitions(client, wanted, after, limit)

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        """Return one of the owner's recognitions.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await get_recognition(client, owner_id, recognition_id)

    async def deliveries(self, wanted: DeliveryFilter, limit: int) -> tuple[DeliverySummary, ...]:
        """Return at most ``limit`` deliveries, the latest tried first.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await list_deliveries(client, wanted, limit)

    async def delivery_content(self, place: DeliveryPlace, delivery_id: UUID) -> bytes | None:
        """Return the encoded record of a delivery: empty past retention, None for an unknown one.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await delivery_content(client, place, delivery_id)

    async def deliveries_between(self, span: WebhookSpan, limit: int) -> tuple[bytes, ...]:
        """Return the encoded records of at most ``limit`` events of a span, in order.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await deliveries_between(client, span, limit)

    async def traffic(self, span: OwnerSpan, *, plates: int) -> Traffic:
        """Return the counts of a span, and at most so many ``plates``.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await count_traffic(client, span, plates=plates)

    async def trigger_counts(self, owner_id: UUID) -> dict[UUID, TriggerCount]:
        """Return how often each of the owner's alerts has fired; those that never did are left out.

        Raises:
            PlatestreamError: ClickHouse is away, too slow, or not set up.
        """
        async with self._connected() as client:
            return await count_triggers(client, owner_id)

    async def fired_for(
        self, owner_id: UUID, recognition_id: UUID, captured_ms: int
    ) -> tuple[Fired, ...]:
        """Return the alerts that fired for a recognition.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await triggers_of(client, owner_id, recognition_id, captured_ms)

    async def holding(self, question: CooldownQuestion) -> HoldingTrigger | None:
        """Return the firing whose cooldown holds a recognition back.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await nearest_trigger(client, question)

    async def span(
        self, owner_id: UUID, span_ms: tuple[int, int], after: SpanRow | None, limit: int
    ) -> tuple[SpanRow, ...]:
        """Return the owner's recognitions of a span, oldest first, from behind ``after``.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await span_rows(client, owner_id, span_ms, after, limit)

    async def erasures(self) -> Erasures:
        """Return what was erased within thirty days.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await list_erasures(client)

    async def images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        """Return the images of at most ``limit`` erased recognitions, of one owner or of all.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            return await images_to_remove(client, limit, owner_id, after)

    async def note_removed(self, images: tuple[ErasedImages, ...]) -> None:
        """Note that images of erased recognitions are removed.

        Raises:
            PartAwayError: ClickHouse is away or too slow.
        """
        async with self._connected() as client:
            await note_removed(client, images)

    async def ping(self) -> None:
        """Return when the table of recognitions can be read, and those of this release are there.

        Raises:
            PlatestreamError: it can not.
        """
        async with self._connected() as client:
            with clickhouse_errors():
                await client.query("SELECT 1 FROM recognitions LIMIT 0")
            await check_schema(client)

    async def close(self) -> None:
        """Close the connections."""
        self._patience.close()
        if self._client is not None:
            await self._client.close()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AsyncClient]:
        try:
            async with self._patience.waiting(_QUERY_SECONDS):
                yield self._client or await self._connect()
        except PartAwayError:
            raise
        except TransientError as error:
            raise PartAwayError(Part.SEARCH) from error

    async def _connect(self) -> AsyncClient:
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self._settings)
            return self._client

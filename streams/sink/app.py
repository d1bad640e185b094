"""Wiring of the sink: an agent for each table gathers its topic and writes it to ClickHouse."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from analytics_sql.client import ClickHouseClient
from common.records.topics import RECOGNITIONS, SINK_DEAD_LETTERS
from streams.runtime.app import Event, StageApp, build_app, raw_topic
from streams.runtime.batch_agent import BatchAgent, add_batch_agent
from streams.runtime.guard import Guard, build_guard
from streams.sink.names import NAME_TABLES, NameSink
from streams.sink.rollups import STATEMENT_SECONDS, RollupKeeper
from streams.sink.settings import SinkSettings
from streams.sink.store import RowStore
from streams.sink.tables import SINK_TABLES, SinkTable

STAGE = "sink"
R = TypeVar("R")


class Sink(Generic[R]):
    """Writes batches of one topic's events."""

    def __init__(self, guard: Guard, store: RowStore, table: SinkTable[R]) -> None:
        self._store = store
        self._table = table
        self._agent = BatchAgent(guard, table.row_of, self._insert)

    async def write(self, events: Sequence[Event]) -> None:
        """Store what can be stored, dead-letter the rest, and release all. Never raises."""
        await self._agent.take(events)

    async def _insert(self, rows: Sequence[tuple[Event, R]]) -> None:
        await self._store.insert(self._table, [row for _, row in rows])


def build_sink(settings: SinkSettings) -> StageApp:
    """Return the sink's app, not yet started."""
    # Of each table two batches in memory: one that is written, one that gathers meanwhile.
    app = build_app(settings, STAGE, stream_buffer_maxsize=settings.sink_batch_rows)
    dead_letters = raw_topic(app, SINK_DEAD_LETTERS)
    guard = build_guard(app, stage=STAGE, dead_letters=dead_letters, gives_up=False)
    client = ClickHouseClient(settings)
    store = RowStore(client)
    for table in SINK_TABLES:
        add_batch_agent(
            app,
            table.topic,
            Sink(guard, store, table).write,
            stage=STAGE,
            max_batch=settings.sink_batch_rows,
            within_seconds=settings.sink_batch_wait_seconds,
        )

    for names in NAME_TABLES:
        add_batch_agent(
            app,
            names.topic,
            NameSink(guard, client, names).write,
            stage=STAGE,
            max_batch=settings.sink_batch_rows,
            within_seconds=settings.sink_batch_wait_seconds,
        )

    patient = ClickHouseClient(settings, query_seconds=STATEMENT_SECONDS)
    keeper = RollupKeeper(patient, every_seconds=settings.sink_rollup_seconds)
    recognitions = raw_topic(app, RECOGNITIONS)

    def has_first_partition() -> bool:
        """One worker is enough: the one that has this partition."""
        return not app.is_leaving and 0 in app.own_partitions(recognitions)

    async def keep_rollups() -> None:
        await keeper.run(has_first_partition)

    app.task(keep_rollups)

    @app.on_before_shutdown.connect
    async def close_clients(*_: Any, **__: Any) -> None:
        await client.close()
        await patient.close()

    return app

"""Builds the sink, in which one agent per table writes a topic to ClickHouse in batches."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from analytics_sql.client import ClickHouseClient
from common.records.topics import RECOGNITIONS, SINK_DEAD_LETTERS, Topic
from streams.runtime.app import Event, StageApp, build_app, raw_topic
from streams.runtime.batch_agent import BatchAgent, HandleBatch, add_batch_agent
from streams.runtime.stage_runner import StageRunner, build_runner
from streams.sink.names import NAME_TABLES, NameSink
from streams.sink.rollups import STATEMENT_SECONDS, RollupUpdater
from streams.sink.settings import SinkSettings
from streams.sink.store import RowStore
from streams.sink.tables import SINK_TABLES, SinkTable

STAGE = "sink"
BATCH_ROWS: Final = 5_000
_BATCH_WAIT_SECONDS: Final = 0.25
# Until new rows are rolled up, each analytics request must count them.
_ROLLUP_SECONDS: Final = 30.0
R = TypeVar("R")


def sink(runner: StageRunner, store: RowStore, table: SinkTable[R]) -> BatchAgent[R]:
    """Return the agent that writes the records of a topic to a table."""

    async def insert(rows: Sequence[tuple[Event, R]]) -> None:
        await store.insert(table, [row for _, row in rows])

    return BatchAgent(runner, table.row_of, insert)


def build_sink(settings: SinkSettings) -> StageApp:
    """Return the sink's app, not yet started."""
    # Up to two batches per table are in memory, because one is written while one is collected.
    app = build_app(settings, STAGE, stream_buffer_maxsize=BATCH_ROWS)
    dead_letters = raw_topic(app, SINK_DEAD_LETTERS)
    runner = build_runner(app, stage=STAGE, dead_letters=dead_letters, gives_up=False)
    client = ClickHouseClient(settings)
    store = RowStore(client)
    for table in SINK_TABLES:
        _add_agent(app, table.topic, sink(runner, store, table).take)
    for names in NAME_TABLES:
        _add_agent(app, names.topic, NameSink(runner, client, names).write)
    slow_client = ClickHouseClient(settings, query_seconds=STATEMENT_SECONDS)
    updater = RollupUpdater(slow_client, every_seconds=_ROLLUP_SECONDS)
    recognitions = raw_topic(app, RECOGNITIONS)

    def has_first_partition() -> bool:
        """Return whether this worker must update the rollups. One worker is enough."""
        return not app.is_leaving and 0 in app.own_partitions(recognitions)

    async def update_rollups() -> None:
        await updater.run(has_first_partition)

    app.task(update_rollups)

    @app.on_before_shutdown.connect
    async def close_clients(*_: Any, **__: Any) -> None:
        await client.close()
        await slow_client.close()

    return app


def _add_agent(app: StageApp, topic: Topic, take: HandleBatch) -> None:
    add_batch_agent(
        app,
        topic,
        take,
        stage=STAGE,
        max_batch=BATCH_ROWS,
        within_seconds=_BATCH_WAIT_SECONDS,
    )

"""Wiring of the sink: one agent that gathers recognitions and writes them to ClickHouse."""

from collections.abc import AsyncIterable, Sequence
from typing import Any

from contracts.topics import RECOGNITIONS, SINK_DEAD_LETTERS
from streams.common.app import Event, StageApp, build_app, raw_topic
from streams.common.guard import Guard, build_guard
from streams.sink.rows import read_batch
from streams.sink.settings import SinkSettings
from streams.sink.store import RecognitionStore

STAGE = "sink"


class Sink:
    """Writes batches of events."""

    def __init__(self, guard: Guard, store: RecognitionStore) -> None:
        self._guard = guard
        self._store = store

    async def write(self, events: Sequence[Event]) -> None:
        """Store what can be stored, dead-letter the rest, and release all. Never raises."""
        batch = read_batch((event, event.message.value) for event in events)
        for event, error in batch.refused:
            await self._guard.reject(event, error)

        async def insert(part: Sequence[Event]) -> None:
            await self._store.insert([batch.rows[event] for event in part])

        if batch.rows:
            await self._guard.run_batch(tuple(batch.rows), insert)


def build_sink(settings: SinkSettings) -> StageApp:
    """Return the sink's app, not yet started."""
    # Two batches in memory: one that is written, one that gathers meanwhile.
    app = build_app(settings, STAGE, stream_buffer_maxsize=settings.sink_batch_rows)
    dead_letters = raw_topic(app, SINK_DEAD_LETTERS)
    guard = build_guard(app, stage=STAGE, dead_letters=dead_letters, gives_up=False)
    store = RecognitionStore(settings)
    sink = Sink(guard, store)

    @app.agent(raw_topic(app, RECOGNITIONS), name=STAGE)
    async def write_recognitions(stream: Any) -> None:
        batches: AsyncIterable[Sequence[Event]] = stream.take_events(
            settings.sink_batch_rows, within=settings.sink_batch_wait_seconds
        )
        async for events in batches:
            await sink.write(events)

    @app.on_before_shutdown.connect
    async def close_store(*_: Any, **__: Any) -> None:
        await store.close()

    return app

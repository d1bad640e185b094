"""A stage that copies recognitions to readings, with faults on demand. Tests run it as a process.

Environment: ``COPYING_WORKER`` is the prefix of each copy. ``COPYING_AGENT`` is ``events`` (with a
table) or ``batches``. While the file ``COPYING_OUTAGE`` exists, every message fails.
"""

import asyncio
import os
from collections.abc import AsyncIterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from common.errors import InvalidInputError, TransientError
from common.logs import configure_logging
from common.records.topics import READINGS, RECOGNITIONS, SINK_DEAD_LETTERS
from common.settings import load_settings
from streams.runtime.app import Event, build_app, raw_topic
from streams.runtime.batch_agent import event_batches
from streams.runtime.settings import StreamSettings
from streams.runtime.stage_runner import build_runner
from streams.runtime.tables import DurableTable, faust_table
from streams.runtime.worker import run

settings = load_settings(StreamSettings)
app = build_app(settings, "copying", linger_ms=2)
source = raw_topic(app, RECOGNITIONS)
target = raw_topic(app, READINGS)
runner = build_runner(app, stage="copying", dead_letters=raw_topic(app, SINK_DEAD_LETTERS))
last_copied = DurableTable(faust_table(app, "last-copied"))

worker = os.environ["COPYING_WORKER"].encode()
outage = Path(os.environ["COPYING_OUTAGE"])


def is_out() -> bool:
    """Return whether the test simulates an outage."""
    return outage.exists()


async def copy(event: Event, note: bytes = b"-") -> None:
    """Send the worker, value and note, and wait for Kafka's acknowledgement."""
    if is_out():
        raise TransientError("the outage that the test wants")
    value = event.value or b""
    if value == b"refused":
        raise InvalidInputError("refused on purpose", code="refused")
    if value == b"broken":
        raise KeyError("an unexpected error")
    if value == b"hanging":
        await asyncio.Event().wait()
    await (await target.send(key=event.key, value=b" ".join((worker, value, note))))


async def copy_and_note(event: Event) -> None:
    """Copy the value with the key's previous value from the table, and then update the table."""
    runner.require_next(event)
    key, value = event.message.key or b"", event.message.value or b""
    await copy(event, last_copied.get(key) or b"none")
    await last_copied.put(key, value)


async def copy_all(events: Sequence[Event]) -> None:
    for event in events:
        await copy(event)


async def by_events(stream: Any) -> None:
    events: AsyncIterable[Event] = stream.events()
    async for event in events:
        await runner.run(event, copy_and_note)


async def by_batches(stream: Any) -> None:
    async with aclosing(event_batches(stream, 50, 0.1)) as batches:
        async for events in batches:
            await runner.run_batch(events, copy_all)


app.agent(source)(by_events if os.environ["COPYING_AGENT"] == "events" else by_batches)


if __name__ == "__main__":
    configure_logging(settings)
    run(app)

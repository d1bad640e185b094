"""The API with real databases and images in a thread, and functions that change its data."""

import asyncio
import io
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.deliveries import insert_attempts
from analytics_sql.migrate import migrate as migrate_clickhouse
from analytics_sql.recognitions import insert_recognitions, recognition_row
from analytics_sql.traffic.camera_counts import CameraMinute, insert_camera_minutes
from analytics_sql.triggers import TriggerRow, insert_triggers
from api.adapters.clickhouse import ClickHouseStore
from api.db.database import Database
from api.db.engine import open_engine
from api.db.migrate import migrate
from api.erasure.service import erase_stored_plate
from api.health.service import DiskUsage, InstallationStatus
from api.limits.limiter import LimitRules
from api.live.recent import LiveRecord
from common.kafka.stage_progress import StageProgress
from common.records.cameras import CameraState, CameraStatus
from common.records.deliveries import DeliveryAttempt
from common.records.frames import Box
from common.records.ids import recognition_id
from common.records.object_keys import crop_key, photo_key, snapshot_key
from common.records.recognitions import Recognition
from common.settings import DatabaseSettings, S3Settings
from common.timestamps import now_ms
from deploy.local.ports import free_ports
from tests.e2e.console.footage import SEEN, Seen, pictures, scaled_box
from tests.integration.api.application import (
    Application,
    Options,
    new_owner,
    running_application,
)
from tests.integration.api.camera_worker import unconfirmed_cameras
from tests.integration.api.serving import served
from tests.integration.api.threaded import run_in_thread
from tests.services.clickhouse import ClickHouseAddress
from tests.services.s3 import s3_client

OPERATOR = "operator@platestream.example"
"""The account that operates the installation, which is the account of the scene."""
STAGES = (
    StageProgress("recognition", 2, 1_204, now_ms() - 95_000),
    StageProgress("sink", 1, 3, now_ms() + 3_600_000),
    StageProgress("alerts", 1, 0),
    StageProgress("webhooks", 0, 0),
)
"""Invented progress, because no stage runs here."""
DISKS = (DiskUsage("kafka", 0.42, 61 << 30), DiskUsage("pictures", 0.87, 9 << 30))
TIMEZONE = "Europe/Lisbon"
_FRESH_MS = 3_600_000
"""Long enough for all tests, because no worker here repeats the status of a camera."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Account:
    """An account with a person who can log in."""

    id: UUID
    email: str
    key: str


@dataclass
class ConsoleStack:
    """A running API. Any thread can call the methods."""

    address: str
    application: Application
    clickhouse: ClickHouseClient
    s3: S3Settings
    loop: asyncio.AbstractEventLoop
    statuses: dict[UUID, CameraState] = field(default_factory=dict)
    published: int = 0

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the API's event loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=30)

    def new_account(self, *, credits: int = 50, email: str | None = None) -> Account:
        """Return a new account with an API key that has all scopes."""
        made = new_owner(
            self.application.database,
            credits=credits,
            email=email or f"{uuid.uuid4().hex[:10]}@platestream.example",
            timezone=TIMEZONE,
            key_name="Gate controller",
        )
        caller = self.run(made)
        return Account(caller.owner_id, caller.email, caller.key)

    def publish(self, *rows: Recognition, is_live: bool = True) -> None:
        """Store recognitions and publish them on the event stream."""
        stored = [recognition_row(row) for row in rows]

        async def work() -> None:
            await insert_recognitions(self.clickhouse, stored)
            if is_live:
                first = self.published
                self.published += len(stored)
                self.application.recent.post(
                    LiveRecord(0, first + at, row) for at, row in enumerate(stored)
                )

        self.run(work())

    def fire(self, *rows: TriggerRow) -> None:
        """Store triggers of alerts."""
        self.run(insert_triggers(self.clickhouse, rows))

    def count(self, *minutes: CameraMinute) -> None:
        self.run(insert_camera_minutes(self.clickhouse, minutes))

    def attempt(self, *attempts: DeliveryAttempt) -> None:
        self.run(insert_attempts(self.clickhouse, attempts))

    def set_camera(self, camera_id: UUID, state: CameraState, error: str | None = None) -> None:
        """Set the status of a camera."""
        is_online = state is CameraState.ONLINE
        status = CameraStatus(
            camera_id=camera_id,
            owner_id=uuid.uuid4(),
            state=state,
            revision=1_000_000,
            worker="test",
            at_ms=now_ms() + _FRESH_MS,
            last_seen_ms=now_ms() if is_online else now_ms() - 900_000,
            last_error=error,
            frame_width_px=1280,
            frame_height_px=720,
        )
        self._post(lambda: self.application.camera_statuses.post([(camera_id, status)]))

    def put_snapshot(self, owner_id: UUID, camera_id: UUID, picture: bytes) -> None:
        """Store a camera's latest snapshot."""
        self._put(snapshot_key(owner_id, camera_id), picture, {"width": "1280", "height": "720"})

    def put_images(self, row: Recognition, seen: int) -> None:
        """Store the photo and the crop of a recognition."""
        assert row.photo_key is not None
        self._put(row.photo_key, pictures()[seen].photo, {})
        self.put_crop(row, seen)

    def put_crop(self, row: Recognition, seen: int) -> None:
        assert row.crop_key is not None
        self._put(row.crop_key, pictures()[seen].crop, {})

    def _put(
        self, key: str, data: bytes, metadata: dict[str, str | list[str] | tuple[str]]
    ) -> None:
        s3_client(self.s3).put_object(
            self.s3.s3_bucket,
            key,
            io.BytesIO(data),
            len(data),
            content_type="image/jpeg",
            metadata=metadata,
        )

    def _post(self, work: Callable[[], None]) -> None:
        async def soon() -> None:
            work()

        self.run(soon())


def passed(
    account: Account,
    camera_id: UUID,
    camera_name: str,
    seen: int,
    *,
    captured_ms: int,
    plate: str | None = None,
    track: str = "1",
) -> Recognition:
    """Return the recognition of a pass, with images from the footage."""
    what: Seen = SEEN[seen]
    text = plate or what.plate
    identifier = recognition_id(captured_ms - 400, camera_id, track)
    left, top, width, height = scaled_box(what)
    characters = (what.characters * 2)[: len(text)]
    return Recognition(
        id=identifier,
        owner_id=account.id,
        camera_id=camera_id,
        camera_name=camera_name,
        plate=text,
        confidence=round(sum(characters) / len(characters), 3),
        character_confidences=characters,
        captured_ms=captured_ms,
        first_seen_ms=captured_ms - 400,
        last_seen_ms=captured_ms + 900,
        readings_count=7,
        box=Box(x=left, y=top, width=width, height=height),
        photo_key=photo_key(account.id, identifier),
        crop_key=crop_key(account.id, identifier),
        region=what.region,
    )


@contextmanager
def console_stack(
    database: DatabaseSettings,
    clickhouse: ClickHouseAddress,
    s3: S3Settings,
    *,
    limits: LimitRules,
    more: Mapping[str, object] | None = None,
) -> Iterator[ConsoleStack]:
    """Yield a running API with empty databases. A fake worker claims cameras immediately.

    ``more`` are settings in addition to the settings of all tests.
    """
    engine = open_engine(database)
    migrate(engine)
    engine.dispose()
    schema = clickhouse.client()
    migrate_clickhouse(schema, retention_days=36_500)
    schema.close()
    (port,) = free_ports(1)

    async def run(started: Callable[[ConsoleStack], None], stop: asyncio.Event) -> None:
        async with AsyncExitStack() as held:
            opened = Database(database, pool_size=8)
            held.callback(opened.close)
            store = ClickHouseStore(clickhouse.settings())
            held.push_async_callback(store.close)
            rows = ClickHouseClient(clickhouse.settings())
            held.push_async_callback(rows.close)
            options = Options(
                store=store,
                s3=s3,
                erase_plate=partial(erase_stored_plate, clickhouse.settings(), s3),
                limits=limits,
                allowed_networks="127.0.0.0/8",
                feeds_streams=True,
                installation=InstallationStatus(lambda: STAGES, lambda: DISKS),
                now_ms=now_ms,
                more={
                    "operator_accounts": OPERATOR,
                    "public_url": f"http://127.0.0.1:{port}",
                    **(more or {}),
                },
            )
            application = await held.enter_async_context(running_application(opened, options))
            application.recent.reset({0: 0})
            loop = asyncio.get_running_loop()
            address = await held.enter_async_context(served(application, port=port))
            stack = ConsoleStack(address, application, rows, s3, loop)
            taking = asyncio.create_task(_take_cameras(stack))
            started(stack)
            await stop.wait()
            application.services.live.end_all()
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await taking

    with run_in_thread(run) as stack:
        yield stack


async def _take_cameras(stack: ConsoleStack) -> None:
    """Claim each new camera as an ingest worker would, and store a snapshot."""
    taken: set[UUID] = set()
    while True:
        for camera_id in await unconfirmed_cameras(stack.application.database):
            if camera_id not in taken:
                taken.add(camera_id)
                status = CameraStatus(
                    camera_id=camera_id,
                    owner_id=uuid.uuid4(),
                    state=CameraState.ONLINE,
                    revision=1_000_000,
                    worker="test",
                    at_ms=now_ms() + _FRESH_MS,
                    last_seen_ms=now_ms(),
                    frame_width_px=1280,
                    frame_height_px=720,
                )
                stack.application.camera_statuses.post([(camera_id, status)])
        await asyncio.sleep(0.02)


def moment(unix_ms: int) -> str:
    """Return a time in the format of the API."""
    return datetime.fromtimestamp(unix_ms / 1000, tz=UTC).isoformat().replace("+00:00", "Z")

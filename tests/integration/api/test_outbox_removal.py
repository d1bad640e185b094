"""Records in the outbox that are deleted with an account, by an erasure, or after a month."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from api.db.database import Database
from api.db.engine import in_transaction, open_engine
from api.db.tables import ConfigOutbox
from api.erasure.jobs import ErasureJobs
from api.erasure.service import ErasedPlate, delete_account, end_account
from api.outbox.outbox import enqueue, enqueue_replay
from api.outbox.removal import erase_plate_rows
from common.plates.normalise import normalise_plate
from common.records.alerts import TriggerPhase
from common.records.topics import CONFIG_CAMERAS, DELIVERIES, RECOGNITIONS
from common.settings import DatabaseSettings
from tests.integration.api.application import Application, Caller
from tests.integration.api.cameras import add_camera, insert_owner
from tests.records import alert, recognition
from tests.unit.streams.webhooks.builders import delivery, trigger_in_phase

pytestmark = pytest.mark.integration

PLATE = "AB12CD"


@pytest.fixture
def engine(api_database: DatabaseSettings) -> Iterator[Engine]:
    opened = open_engine(api_database)
    yield opened
    opened.dispose()


def waiting(engine: Engine) -> list[tuple[str, UUID | None]]:
    """Return the topic and the account of each record in the outbox."""
    wanted = select(ConfigOutbox.topic, ConfigOutbox.owner_id).order_by(ConfigOutbox.id)
    return in_transaction(engine, lambda session: [(a, b) for a, b in session.execute(wanted)])


def put(engine: Engine, owner_id: UUID, plate: str = PLATE, *, captured_ms: int = 1_000) -> None:
    """Add the records of a recognition and of its delivery."""
    seen = msgspec.structs.replace(
        recognition(0), owner_id=owner_id, plate=plate, captured_ms=captured_ms
    )
    sent = msgspec.structs.replace(
        delivery(0), owner_id=owner_id, recognition=seen, occurred_ms=captured_ms
    )

    def work(session: Session) -> None:
        enqueue(session, RECOGNITIONS, str(owner_id), seen)
        enqueue_replay(session, DELIVERIES, owner_id, [(sent.endpoint, sent)])

    in_transaction(engine, work)


def set_aside(engine: Engine) -> None:
    in_transaction(engine, lambda session: session.execute(update(ConfigOutbox).values(error="x")))


def test_a_removed_account_leaves_tombstones_only(engine: Engine) -> None:
    owner_id, other = insert_owner(engine), insert_owner(engine)
    for each in (owner_id, other):
        add_camera(engine, each)
        put(engine, each)
    set_aside(engine)

    def remove(session: Session) -> None:
        end_account(session, owner_id)
        delete_account(session, owner_id)

    in_transaction(engine, remove)

    left = waiting(engine)
    assert [topic for topic, owner in left if owner is None] == [CONFIG_CAMERAS.name]
    assert {owner for _, owner in left} == {other, None}
    assert len(left) == 4


def test_an_erased_plate_leaves_the_outbox_whether_set_aside_or_not(engine: Engine) -> None:
    owner_id = uuid4()
    put(engine, owner_id)
    set_aside(engine)
    put(engine, owner_id)
    put(engine, owner_id, "AB12CDE")
    put(engine, owner_id, captured_ms=2_000)
    put(engine, uuid4())

    erased = in_transaction(
        engine, lambda session: erase_plate_rows(session, owner_id, PLATE, before_ms=2_000)
    )

    assert erased == 4
    assert len(waiting(engine)) == 6


@pytest.mark.parametrize(("plate", "erased"), [("AB12CD", 2), ("XY99Z", 0)])
def test_what_cannot_be_read_is_erased_if_it_contains_the_plate(
    engine: Engine, plate: str, erased: int
) -> None:
    owner_id = uuid4()
    put(engine, owner_id)
    value = b'{"version": 99, "plate": "%s"}' % plate.encode()
    spoilt = update(ConfigOutbox).values(value=value)
    in_transaction(engine, lambda session: session.execute(spoilt))

    found = in_transaction(
        engine, lambda session: erase_plate_rows(session, owner_id, PLATE, before_ms=0)
    )

    assert (found, len(waiting(engine))) == (erased, 2 - erased)


@pytest.mark.parametrize("written", ["ab-12 cd", "\u0410\u042212CD"])
def test_a_delivery_whose_alert_lists_the_plate_in_another_spelling_is_erased(
    engine: Engine, written: str
) -> None:
    made = trigger_in_phase(TriggerPhase.CONFIRMED)
    listed = msgspec.structs.replace(made, alert=alert(1, plates=(written,)))
    sent = msgspec.structs.replace(delivery(0), recognition=None, trigger=listed, occurred_ms=1_000)
    owner_id = sent.owner_id
    in_transaction(
        engine,
        lambda session: enqueue_replay(session, DELIVERIES, owner_id, [(sent.endpoint, sent)]),
    )
    set_aside(engine)

    erased = in_transaction(
        engine,
        lambda session: erase_plate_rows(
            session, owner_id, normalise_plate(written), before_ms=2_000
        ),
    )

    assert (erased, waiting(engine)) == (1, [])


async def test_what_is_set_aside_is_deleted_after_30_days(
    database: Database, engine: Engine
) -> None:
    owner_id = uuid4()
    put(engine, owner_id)
    set_aside(engine)
    put(engine, owner_id)
    now = datetime.now(UTC) + timedelta(days=29)

    async def erase(*_: object) -> ErasedPlate:
        raise AssertionError

    async def left_after(moment: datetime) -> int:
        now_ms = int(moment.timestamp() * 1000)
        await ErasureJobs(database, erase, lambda: now_ms).sweep()
        return len(waiting(engine))

    assert await left_after(now) == 4
    assert await left_after(now + timedelta(days=2)) == 2


async def test_an_erasure_removes_its_plate_from_the_outbox(
    application: Application, owner: Caller, engine: Engine
) -> None:
    put(engine, owner.owner_id)

    async def erase(*_: object) -> ErasedPlate:
        return ErasedPlate(Counter(), None)

    async with application.client(owner) as client:
        asked = await client.post("/api/erasures", json={"plate": PLATE})
        now_ms = int(datetime.now(UTC).timestamp() * 1000)
        assert await ErasureJobs(application.database, erase, lambda: now_ms).sweep() == 1
        found = await client.get(f"/api/erasures/{asked.json()['erasure']['id']}")

    assert found.json()["erasure"]["counts"]["outbox"] == 2
    assert [topic for topic, _ in waiting(engine) if topic != CONFIG_CAMERAS.name] == []


def test_records_know_their_owner(engine: Engine) -> None:
    owner_id = insert_owner(engine)
    add_camera(engine, owner_id)
    put(engine, owner_id)

    assert {owner for _, owner in waiting(engine)} == {owner_id}

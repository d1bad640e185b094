"""Rollups never change a result: after any events in any order, results equal a full count."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from hypothesis import strategies as st

from analytics_sql.client import ClickHouseClient, Rows
from analytics_sql.erasure import Erasure, erase_recognitions, insert_erasure
from analytics_sql.outcomes import OutcomeRow, insert_outcomes
from analytics_sql.recognitions import (
    RecognitionFilter,
    RecognitionRow,
    insert_recognitions,
    list_recognitions,
)
from analytics_sql.traffic.analytics import (
    QUARTER_MS,
    CameraCount,
    OutcomeCount,
    OwnerSpan,
    PlateCount,
    QuarterCount,
    Traffic,
    count_traffic,
)
from analytics_sql.traffic.rollups import RollupBounds, rank_plates, roll_up
from common.errors import TransientError
from common.plates.matching import MatchMode
from common.records.ids import NIL_UUID, image_call_id
from common.records.recognitions import RecognitionSource
from streams.sink.rollups import RollupUpdater
from tests.integration.analytics_sql.conftest import check_examples, migrated_client
from tests.records import plain_row
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

client = migrated_client

DAY_MS = 86_400_000
SPAN_MS = 30 * DAY_MS
PLATES = ("AA1", "BB2", "CC3", "DD4", "EE5", "FF6")
CAMERAS = tuple(UUID(int=number) for number in (10, 11, 12))
TOP = 2
# Every run ranks all plates again, and rows are readable immediately.
BOUNDS = RollupBounds(
    quarters=1600, ranked_plates=3, ranked_from_rows=1, rank_age_ms=0, settle_ms=1
)


class CrashingClient(ClickHouseClient):
    """A client whose process is killed after ``commands`` commands."""

    def __init__(self, address: ClickHouseAddress, commands: int) -> None:
        super().__init__(address.settings())
        self._left = commands

    async def command(self, name: str, parameters: Mapping[str, object]) -> None:
        """Run a command, or raise as if the process was killed before the command."""
        if self._left == 0:
            raise TransientError("killed")
        self._left -= 1
        await super().command(name, parameters)


class RolledUpMeanwhile(ClickHouseClient):
    """Lets another worker roll up between reading the buckets and reading the changes."""

    def __init__(self, address: ClickHouseAddress, owner: UUID) -> None:
        super().__init__(address.settings())
        self._owner = owner
        self._are_buckets_read = asyncio.Event()

    async def rows(self, name: str, parameters: Mapping[str, object] | None = None) -> Rows:
        if name == "traffic_touched" and not self._are_buckets_read.is_set():
            await self._are_buckets_read.wait()
            other = ClickHouseClient(self._settings)
            await roll_up(other, self._owner, BOUNDS)
            await other.close()
        found = await super().rows(name, parameters)
        if name == "traffic_coverage":
            self._are_buckets_read.set()
        return found


@dataclass
class Model:
    """The stored rows of an account."""

    owner: UUID
    rows: dict[UUID, RecognitionRow] = field(default_factory=dict)
    outcomes: dict[UUID, OutcomeRow] = field(default_factory=dict)

    def traffic(self, span: OwnerSpan) -> Traffic:
        """Return the traffic of a time range, counted from all rows."""
        rows = [row for row in self.rows.values() if span.from_ms <= row.captured_ms < span.to_ms]
        told = [one for one in self.outcomes.values() if span.from_ms <= one.at_ms < span.to_ms]
        quarters = Counter(row.captured_ms // QUARTER_MS * QUARTER_MS for row in rows)
        cameras = Counter(row.camera_id for row in rows)
        plates = Counter(row.plate for row in rows)
        last = {row.plate: row.captured_ms for row in sorted(rows, key=_captured)}
        top = sorted(plates, key=lambda plate: (-plates[plate], -last[plate], plate))[:TOP]
        return Traffic(
            tuple(
                QuarterCount(at, quarters[at])
                for at in sorted(quarters, key=lambda at: (-quarters[at], at))
            ),
            tuple(
                CameraCount(camera, "Gate", cameras[camera])
                for camera in sorted(cameras, key=lambda one: (-cameras[one], one))
            ),
            tuple(PlateCount(plate, plates[plate], last[plate]) for plate in top),
            OutcomeCount(sum(one.accepted for one in told), sum(not one.accepted for one in told)),
        )


def _captured(row: RecognitionRow) -> int:
    return row.captured_ms


# Ages around the edges of quarters, days and the thirty days; recent ages; and clocks ahead.
_ages = st.one_of(
    st.integers(-DAY_MS, 2 * DAY_MS),
    st.integers(0, 3000),
    st.integers(0, 40).map(lambda quarters: quarters * QUARTER_MS),
    st.integers(0, 31).map(lambda days: days * DAY_MS),
    st.integers(SPAN_MS - DAY_MS, SPAN_MS + DAY_MS),
)
_row = st.tuples(_ages, st.sampled_from(PLATES), st.sampled_from(CAMERAS))
_steps = st.one_of(
    st.tuples(st.just("insert"), st.lists(_row, min_size=1, max_size=12)),
    st.tuples(st.just("again"), st.integers(0, 1 << 30)),
    st.tuples(st.just("outcome"), st.tuples(_ages, st.booleans())),
    st.tuples(st.just("roll up"), st.none()),
    st.tuples(st.just("roll up twice at once"), st.none()),
    st.tuples(st.just("crash"), st.integers(0, 3)),
    st.tuples(st.just("rank"), st.none()),
    st.tuples(st.just("erase"), st.tuples(st.sampled_from(PLATES), st.integers(0, 2 * DAY_MS))),
)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def _do(
    client: ClickHouseClient, address: ClickHouseAddress, model: Model, step: tuple[str, object]
) -> None:
    owner = model.owner
    match step:
        case ("insert", list(rows)):
            made = [plain_row(owner, _now_ms() - age, *rest) for age, *rest in rows]
            model.rows |= {row.id: row for row in made}
            await insert_recognitions(client, made)
        case ("again", int(which)):
            known = list(model.rows.values())
            await insert_recognitions(client, known[which % (len(known) + 1) :])
        case ("outcome", (int(age), bool(accepted))):
            at_ms = _now_ms() - age
            one = OutcomeRow(
                user_id=owner,
                at_ms=at_ms,
                id=image_call_id(at_ms, owner),
                camera_id=NIL_UUID,
                source=RecognitionSource.API,
                accepted=accepted,
            )
            model.outcomes[one.id] = one
            await insert_outcomes(client, [one, one])
        case ("roll up", _):
            await roll_up(client, owner, BOUNDS)
        case ("roll up twice at once", _):
            await asyncio.gather(*(roll_up(client, owner, BOUNDS) for _ in range(2)))
        case ("crash", int(commands)):
            killed = CrashingClient(address, commands)
            await asyncio.gather(roll_up(killed, owner, BOUNDS), return_exceptions=True)
            await killed.close()
        case ("rank", _):
            await rank_plates(client, owner, BOUNDS)
        case ("erase", (str(plate), int(age))):
            erasure = Erasure(owner, plate, _now_ms() - age)
            gone = [
                row.id
                for row in model.rows.values()
                if row.plate == plate and row.captured_ms < erasure.before_ms
            ]
            await insert_erasure(client, erasure)
            assert await erase_recognitions(client, erasure) == len(gone)
            for identifier in gone:
                del model.rows[identifier]


async def _run(
    client: ClickHouseClient,
    address: ClickHouseAddress,
    owner: UUID,
    steps: list[tuple[str, object]],
) -> None:
    model = Model(owner)
    for step in steps:
        await _do(client, address, model, step)
        now_ms = _now_ms()
        span = OwnerSpan(owner, now_ms - SPAN_MS, now_ms)

        assert await count_traffic(client, span, plates=TOP, settle_ms=1) == model.traffic(span)

    for plate in PLATES:
        wanted = RecognitionFilter(owner, plate, match=MatchMode.FUZZY)
        page = await list_recognitions(client, wanted, None, 200)
        assert {row.id for row in page.rows} == {
            row.id for row in model.rows.values() if row.plate == plate
        }


def test_the_answer_is_that_of_counting_every_row(migrated_clickhouse: ClickHouseAddress) -> None:
    check_examples(
        migrated_clickhouse,
        st.lists(_steps, min_size=4, max_size=10),
        lambda client, owner, steps: _run(client, migrated_clickhouse, owner, steps),
        count=4,
    )


async def test_what_is_rolled_up_while_it_is_counted_is_counted_once(
    client: ClickHouseClient, migrated_clickhouse: ClickHouseAddress
) -> None:
    owner = UUID(int=1)
    late_ms = _now_ms() - DAY_MS
    await insert_recognitions(client, [plain_row(owner, late_ms, "AA1", CAMERAS[0])])
    await roll_up(client, owner, BOUNDS)
    await insert_recognitions(client, [plain_row(owner, late_ms + 1, "BB2", CAMERAS[0])])
    meanwhile = RolledUpMeanwhile(migrated_clickhouse, owner)

    span = OwnerSpan(owner, _now_ms() - SPAN_MS, _now_ms())
    traffic = await count_traffic(meanwhile, span, plates=TOP, settle_ms=1)

    assert sum(quarter.recognitions for quarter in traffic.quarters) == 2
    await meanwhile.close()


@pytest.mark.long
async def test_a_sweep_counts_who_had_anything_written(client: ClickHouseClient) -> None:
    owner, stranger = UUID(int=1), UUID(int=2)
    old_ms = _now_ms() - 3 * DAY_MS
    for user in (owner, stranger):
        rows = [plain_row(user, old_ms + n, "AA1", CAMERAS[0]) for n in range(5)]
        await insert_recognitions(client, rows)
    await insert_erasure(client, Erasure(stranger))
    keeper = RollupUpdater(client, every_seconds=60)

    for _ in range(10):
        await keeper.sweep()

    span = OwnerSpan(owner, _now_ms() - SPAN_MS, _now_ms())
    assert sum(q.recognitions for q in (await _traffic(client, span)).quarters) == 5
    users = await client.run("SELECT DISTINCT user_id FROM traffic_buckets WHERE length = 96")
    assert users.rows == [(owner,)], "an erased owner is counted no more"


async def test_what_is_erased_is_in_nothing_that_was_made_of_it(client: ClickHouseClient) -> None:
    owner = UUID(int=1)
    now_ms = _now_ms()
    rows = [plain_row(owner, now_ms - DAY_MS - n, PLATES[n % 3], CAMERAS[0]) for n in range(30)]
    await insert_recognitions(client, rows)
    await roll_up(client, owner, BOUNDS)
    await rank_plates(client, owner, BOUNDS)

    await insert_erasure(client, Erasure(owner, PLATES[0], now_ms))
    await erase_recognitions(client, Erasure(owner, PLATES[0], now_ms))

    for table, column in (("plate_pieces", "[plate]"), ("plate_ranks", "plates")):
        left = await client.run(f"SELECT arrayDistinct(flatten(groupArray({column}))) FROM {table}")
        assert set(left.rows[0][0]) == set(PLATES[1:3])

    await insert_erasure(client, Erasure(owner))
    await erase_recognitions(client, Erasure(owner))

    for table in ("plate_pieces", "plate_ranks", "traffic_buckets", "traffic_states"):
        assert (await client.run(f"SELECT count() FROM {table}")).rows == [(0,)]


@pytest.mark.long
async def test_a_thousand_cameras_and_one_plate(client: ClickHouseClient) -> None:
    now_ms = _now_ms()
    model = Model(UUID(int=1))
    cameras = [UUID(int=0x100 + number) for number in range(1000)]
    rows = [
        plain_row(model.owner, now_ms - 2 * DAY_MS + n, "AA1", cameras[n % 1000])
        for n in range(3000)
    ]
    model.rows = {row.id: row for row in rows}
    await insert_recognitions(client, rows)
    await roll_up(client, model.owner, BOUNDS)
    await rank_plates(client, model.owner, BOUNDS)

    span = OwnerSpan(model.owner, now_ms - SPAN_MS, now_ms)
    assert await count_traffic(client, span, plates=TOP, settle_ms=1) == model.traffic(span)
    for text, match in (
        ("AA1", MatchMode.EXACT),
        ("AA7", MatchMode.FUZZY),
        ("?A*", MatchMode.WILDCARD),
    ):
        wanted = RecognitionFilter(model.owner, text, match=match)
        page = await list_recognitions(client, wanted, None, 50)
        assert [row.id for row in page.rows] == [row.id for row in rows[:-51:-1]]


async def _traffic(client: ClickHouseClient, span: OwnerSpan) -> Traffic:
    return await count_traffic(client, span, plates=TOP)

"""The events that a client receives, with their IDs, filters and limits."""

import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress

import pytest
from cryptography.fernet import Fernet

from api.errors import ApiError, ErrorCode
from api.live.recent import (
    LiveRecord,
    RecentRecognitions,
    ResumeTokens,
    StreamCursor,
    StreamPosition,
)
from api.live.routes import StreamQuery, wanted_by
from api.live.service import StreamSlots
from api.live.stream import ReaderStream, StreamContext
from common.errors import TransientError
from common.secrets import SecretBox
from common.timestamps import format_timestamp
from tests.unit.api.callers import caller, endless_limits
from tests.unit.api.live.test_recent import NOW_MS, OWNER, recent, recognition

SEALER = ResumeTokens(SecretBox(Fernet.generate_key().decode()))


class Reader:
    """A stream that a test can end, by a refusal or as at shutdown."""

    def __init__(self, kept: RecentRecognitions, *, beat_seconds: float = 60) -> None:
        self.refusal: Exception | None = None
        self.is_ending = False
        context = StreamContext(SEALER, beat_seconds, lambda: NOW_MS, lambda: self.is_ending)
        everything = wanted_by(StreamQuery())
        self._stream = ReaderStream(context, StreamCursor(kept, OWNER), everything, self._check)

    def events(self, position: StreamPosition | None = None) -> AsyncGenerator[bytes, None]:
        return self._stream.events(position)

    async def _check(self) -> None:
        if self.refusal is not None:
            raise self.refusal


async def test_a_stream_opens_and_sends_recognitions_as_the_list_shows_them() -> None:
    kept = recent()
    events = Reader(kept).events()
    opening = (await anext(events)).decode()
    kept.post([LiveRecord(0, 10, recognition("AB12CD"))])
    event = (await anext(events)).decode().splitlines()
    await events.aclose()

    assert opening.startswith("retry: 3000\nid: ")
    assert event[0].startswith("id: ")
    body = json.loads(event[1].removeprefix("data: "))
    assert (body["plate"], body["userId"]) == ("AB12CD", str(OWNER))
    assert body["timestamp"].endswith("Z")
    position = SEALER.open(event[0].removeprefix("id: "))
    assert position == StreamPosition({0: 11, 1: 10}, NOW_MS)


async def test_a_heartbeat_moves_on_the_place_to_resume_from() -> None:
    kept = recent()
    events = Reader(kept, beat_seconds=0).events()
    await anext(events)
    kept.post([LiveRecord(0, 10, recognition("X", uuid.uuid4()))])
    beat = (await anext(events)).decode()
    await events.aclose()

    assert beat.endswith("\n: beat\n\n")
    position = SEALER.open(beat.splitlines()[0].removeprefix("id: "))
    assert position is not None
    assert position.offsets == {0: 11, 1: 10}


async def test_a_lost_place_is_reported_and_the_stream_goes_on() -> None:
    kept = recent(capacity=2)
    kept.post([LiveRecord(0, 10 + number, recognition(str(number))) for number in range(5)])
    events = Reader(kept).events(StreamPosition({0: 10, 1: 10}, NOW_MS - 1000))
    first = (await anext(events)).decode()
    kept.post([LiveRecord(0, 20, recognition("new"))])
    event = (await anext(events)).decode()
    await events.aclose()

    assert "event: reset\n" in first
    # The list has the missed recognitions, from five minutes before the last sign of life.
    assert f'"since":"{format_timestamp(NOW_MS - 1000 - 300_000)}"' in first
    assert '"plate":"new"' in event


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (ApiError(ErrorCode.EXPIRED_CREDENTIALS), "expired_credentials"),
        (ApiError(ErrorCode.MISSING_SCOPE), "missing_scope"),
        (TransientError("unavailable"), "dependency_unavailable"),
    ],
    ids=["expired", "scope", "database"],
)
async def test_a_reader_that_may_not_read_any_more_gets_the_reason(
    refusal: Exception, code: str
) -> None:
    reader = Reader(recent())
    events = reader.events()
    await anext(events)
    reader.refusal = refusal
    end = (await anext(events)).decode()

    assert end.startswith("event: end\n")
    assert json.loads(end.splitlines()[1].removeprefix("data: "))["code"] == code
    with pytest.raises(StopAsyncIteration):
        await anext(events)


async def test_all_streams_end_with_their_process() -> None:
    reader = Reader(recent())
    events = reader.events()
    await anext(events)
    reader.is_ending = True

    with pytest.raises(StopAsyncIteration):
        await anext(events)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({}, True),
        ({"plate": "b-12"}, True),
        ({"plate": "b13"}, False),
        ({"plate": "ab12cd", "match": "exact"}, True),
        ({"plate": "ab12", "match": "exact"}, False),
        ({"plate": "ab", "match": "prefix"}, True),
        ({"plate": "a*cd", "match": "wildcard"}, True),
        ({"plate": "a8l2cd", "match": "fuzzy"}, True),
        ({"minConfidence": "0.9"}, True),
        ({"minConfidence": "0.91"}, False),
        ({"cameraId": str(uuid.uuid4())}, False),
    ],
)
def test_filters_mean_what_they_mean_in_the_list(query: dict[str, str], wanted: bool) -> None:
    assert wanted_by(StreamQuery.model_validate(query))(recognition("AB12CD")) is wanted


@pytest.mark.parametrize(
    "event_id",
    ["", "1", "é", "gAAAAA", Fernet.generate_key().decode()],
    ids=["nothing", "number", "letter", "beginning", "key"],
)
def test_invalid_ids_open_nothing(event_id: str) -> None:
    assert SEALER.open(event_id) is None


def test_a_secret_of_another_kind_opens_nothing() -> None:
    key = Fernet.generate_key().decode()
    box = SecretBox(key)

    for text in ('{"a": 1}', "[]", "rtsp://camera", '["other", 1, []]'):
        assert ResumeTokens(box).open(box.encrypt(text)) is None


def _slots(*, per_credential: int = 9, per_owner: int = 9, in_all: int = 9) -> StreamSlots:
    limits = endless_limits(streams=per_owner)
    return StreamSlots(limits, per_credential=per_credential, in_all=in_all)


def test_slots_are_bounded_and_released() -> None:
    slots = _slots(per_credential=2, in_all=4)
    one, another = caller("one", "owner"), caller("another", "another owner")
    with slots.in_use(one), slots.in_use(one):
        with pytest.raises(ApiError) as refused, slots.in_use(one):
            pass
        assert refused.value.status == 429
        third, fourth = caller("a third", "a third owner"), caller("a stranger")
        with slots.in_use(another), slots.in_use(third), pytest.raises(ApiError):
            slots.in_use(fourth).__enter__()
    with slots.in_use(one):
        pass
    assert slots.open == 0


def test_an_owner_with_many_keys_leaves_room_for_others() -> None:
    slots = _slots(per_owner=2)
    with slots.in_use(caller("first", "owner")), slots.in_use(caller("second", "owner")):
        with pytest.raises(ApiError, match="limit of 2 open event streams") as refused:
            slots.in_use(caller("third", "owner")).__enter__()
        with slots.in_use(caller("a stranger")):
            assert slots.open == 3
    with slots.in_use(caller("third", "owner")):
        pass

    assert (refused.value.status, refused.value.code) == (429, ErrorCode.TOO_MANY_STREAMS)


def test_owners_who_take_all_that_they_can_leave_room_for_another() -> None:
    slots, number = _slots(per_credential=100, per_owner=100, in_all=500), []
    with ExitStack() as stack:
        for name in ("a", "b", "c", "d", "e", "f"):
            before = slots.open
            with suppress(ApiError):
                while True:
                    stack.enter_context(slots.in_use(caller(name, name)))
            number.append(slots.open - before)

    assert number == [100, 100, 100, 100, 50, 25]

import msgspec

from contracts.ids import trigger_id
from contracts.records import AlertTrigger, encode
from streams.common.batches import read_batch
from streams.sink.tables import RECOGNITION_TABLE, TRIGGER_TABLE
from tests.records import alert, recognition

RECOGNITION = RECOGNITION_TABLE.row_of
TRIGGER = TRIGGER_TABLE.row_of


def test_one_unreadable_message_does_not_hold_back_the_others() -> None:
    good = encode(recognition(1))
    newer = encode(msgspec.structs.replace(recognition(1), version=2))
    batch = read_batch(
        [("a", good), ("b", newer), ("c", None), ("d", b"{"), ("e", good)], RECOGNITION
    )
    assert list(batch.read) == ["a", "e"]
    assert [(message, error.code) for message, error in batch.refused] == [
        ("b", "unknown_record_version"),
        ("c", "unreadable_record"),
        ("d", "unreadable_record"),
    ]


def test_rows_are_as_stored() -> None:
    sent = msgspec.structs.replace(recognition(1), plate="ab-123")
    row = read_batch([("a", encode(sent))], RECOGNITION).read["a"]
    assert (row.plate, row.id, row.captured_ms) == ("AB123", sent.id, sent.captured_ms)


def test_an_id_of_another_time_is_refused() -> None:
    liar = msgspec.structs.replace(recognition(1), captured_ms=recognition(2).captured_ms)
    ((_, error),) = read_batch([("a", encode(liar))], RECOGNITION).refused
    assert error.code == "id_of_other_time"


def _trigger(number: int) -> AlertTrigger:
    rule, seen = alert(1), recognition(number)
    return AlertTrigger(
        id=trigger_id(seen.captured_ms, rule.alert_id, seen.id),
        owner_id=rule.owner_id,
        alert=rule,
        recognition=msgspec.structs.replace(seen, plate="ab-123"),
        decided_ms=seen.captured_ms + 40,
    )


def test_a_trigger_is_a_row() -> None:
    sent = _trigger(3)
    row = read_batch([("a", encode(sent))], TRIGGER).read["a"]
    assert (row.id, row.alert_id, row.plate) == (sent.id, sent.alert.alert_id, "AB123")
    assert (row.recognition_id, row.captured_ms) == (
        sent.recognition.id,
        sent.recognition.captured_ms,
    )


def test_a_trigger_of_another_time_is_refused() -> None:
    liar = msgspec.structs.replace(_trigger(3), id=_trigger(4).id)
    never = msgspec.structs.replace(_trigger(3), decided_ms=-1)
    refused = read_batch([("a", encode(liar)), ("b", encode(never))], TRIGGER).refused
    assert [error.code for _, error in refused] == ["id_of_other_time", "time_out_of_range"]

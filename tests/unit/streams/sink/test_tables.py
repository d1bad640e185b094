import msgspec
import pytest

from common.records.alerts import AlertTrigger, EarlyTrigger, TriggerPhase
from common.records.codec import encode
from common.records.ids import MAX_PASS_MS
from streams.runtime.batch_agent import read_batch
from streams.sink.tables import OUTCOME_TABLE, RECOGNITION_TABLE, TRIGGER_TABLE
from tests.records import alert, alert_trigger, image_call_outcome, recognition

RECOGNITION = RECOGNITION_TABLE.row_of
TRIGGER = TRIGGER_TABLE.row_of


def test_one_unreadable_message_does_not_stop_the_others() -> None:
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
    late_ms = recognition(1).captured_ms + MAX_PASS_MS + 1
    liar = msgspec.structs.replace(recognition(1), captured_ms=late_ms)
    ((_, error),) = read_batch([("a", encode(liar))], RECOGNITION).refused
    assert error.code == "id_of_other_time"


def _trigger(number: int) -> AlertTrigger:
    seen = msgspec.structs.replace(recognition(number), plate="ab-123")
    return alert_trigger(alert(1), seen, decided_ms=seen.captured_ms + 40)


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


@pytest.mark.parametrize(
    ("phase", "plate"),
    [
        (TriggerPhase.CONFIRMED, "AB1"),
        (TriggerPhase.CORRECTED, "AB123"),
        (TriggerPhase.WITHDRAWN, "AB1"),
    ],
)
def test_the_resolution_of_an_early_trigger_is_the_same_row(
    phase: TriggerPhase, plate: str
) -> None:
    first = msgspec.structs.replace(_trigger(3), phase=TriggerPhase.EARLY)
    captured_ms = first.recognition.captured_ms
    early = EarlyTrigger(plate="ab 1", captured_ms=captured_ms, decided_ms=first.decided_ms)
    # The recognition's frame is later than the frame of the early trigger.
    last = msgspec.structs.replace(_trigger(40), id=first.id, phase=phase, early=early)
    rows = read_batch([("a", encode(first)), ("b", encode(last))], TRIGGER).read
    before, after = rows["a"], rows["b"]
    assert (before.phase, after.phase) == (TriggerPhase.EARLY, phase)
    assert (after.id, after.captured_ms, after.decided_ms) == (
        before.id,
        before.captured_ms,
        before.decided_ms,
    )
    assert after.recognition_id == last.recognition.id
    assert after.plate == plate


def test_an_outcome_is_a_row() -> None:
    sent = image_call_outcome(1_790_000_000_000)
    row = read_batch([("a", encode(sent))], OUTCOME_TABLE.row_of).read["a"]
    assert (row.id, row.user_id, row.at_ms) == (sent.id, sent.owner_id, sent.at_ms)
    assert (row.source, row.accepted) == ("api", True)


def test_an_outcome_of_another_time_is_refused() -> None:
    sent = image_call_outcome(1_790_000_000_000)
    for at_ms, code in ((sent.at_ms + 1, "id_of_other_time"), (-1, "time_out_of_range")):
        liar = encode(msgspec.structs.replace(sent, at_ms=at_ms))
        ((_, error),) = read_batch([("a", liar)], OUTCOME_TABLE.row_of).refused
        assert error.code == code
